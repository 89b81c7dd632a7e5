// Named checks for the driver in JavaScript: each prints one line, a failed one never stops the next.

const DEADLINE_MS = 30_000;

export class Checks {
  passed = 0;
  failed = 0;

  /** Runs one check; gives its result, or undefined when it failed. */
  async run(name, check) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no end within ${DEADLINE_MS / 1000} s`)), DEADLINE_MS);
    });
    try {
      const result = await Promise.race([check(), late]);
      this.passed += 1;
      console.log(`ok ${name}`);
      return result;
    } catch (error) {
      this.failed += 1;
      const why = `${error?.name ?? "thrown"}: ${error?.message ?? error}`;
      console.log(`FAIL ${name}: ${why.replace(/\s+/g, " ").slice(0, 600)}`);
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The closing line; gives the exit code. */
  close() {
    console.log(`${this.passed} passed, ${this.failed} failed`);
    return this.passed > 0 && this.failed === 0 ? 0 : 1;
  }
}

export function ensure(condition, why) {
  if (!condition) throw new Error(why);
}

export function equal(got, wanted, what) {
  const [left, right] = [canonical(got), canonical(wanted)];
  ensure(left === right, `${what}: got ${left}, wanted ${right}`);
}

function canonical(value) {
  const sorted = (_, member) =>
    member && typeof member === "object" && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member;
  return JSON.stringify(value, sorted) ?? "undefined";
}

/** Awaits what must throw an error that `judge` accepts; gives the error. */
export async function throws(promise, judge, wanted) {
  let result;
  try {
    result = await promise;
  } catch (error) {
    ensure(judge(error), `threw ${error?.name}: ${error?.message} instead of ${wanted}`);
    ensure(error.message, `${wanted} has no text`);
    return error;
  }
  throw new Error(`threw nothing instead of ${wanted}; gave ${JSON.stringify(result)?.slice(0, 200)}`);
}

export async function collect(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Every text, number and boolean of a document, with its path. */
export function* leaves(document, path = []) {
  if (document && typeof document === "object") {
    for (const [name, member] of Object.entries(document)) yield* leaves(member, [...path, name]);
  } else if (document !== null) {
    yield [path, document];
  }
}

/** A copy of `document` with another value at `path`. */
export function tampered(document, path) {
  const copy = structuredClone(document);
  let place = copy;
  for (const step of path.slice(0, -1)) place = place[step];
  const last = path.at(-1);
  const leaf = place[last];
  place[last] = typeof leaf === "boolean" ? !leaf : typeof leaf === "number" ? leaf + 1 : `${leaf}x`;
  return copy;
}
