// JSON that keeps what the browser's own reader changes: the digits of numbers, and the order of members. For documents that
// are shown to be edited and sent back.

export type Exact = null | boolean | string | Digits | Exact[] | Map<string, Exact>

/** A number as it is written. */
export class Digits {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const SPACE = /[ \t\n\r]*/y
const STRING = /"(?:[^"\\\u0000-\u001f]|\\.)*"/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORD = /true|false|null/y

/** Reads a text; throws where it is no JSON. Of repeated members the last one counts, as in the browser's own reader. */
export function read(text: string): Exact {
  let at = 0
  const take = (shape: RegExp): string | undefined => {
    shape.lastIndex = at
    const found = shape.exec(text)?.[0]
    if (found !== undefined) at += found.length
    return found
  }
  const skip = () => void take(SPACE)
  const fail = (): never => {
    throw new SyntaxError(`no JSON at ${at}`)
  }
  const has = (sign: string): boolean => {
    skip()
    if (text[at] !== sign) return false
    at += 1
    return true
  }
  const string = (): string => {
    skip()
    const found = take(STRING)
    return found === undefined ? fail() : (JSON.parse(found) as string)
  }
  const value = (depth: number): Exact => {
    if (depth > 200) fail()
    skip()
    if (has('{')) {
      const members = new Map<string, Exact>()
      if (has('}')) return members
      do {
        const name = string()
        if (!has(':')) fail()
        members.set(name, value(depth + 1))
      } while (has(','))
      return has('}') ? members : fail()
    }
    if (has('[')) {
      const items: Exact[] = []
      if (has(']')) return items
      do items.push(value(depth + 1))
      while (has(','))
      return has(']') ? items : fail()
    }
    if (text[at] === '"') return string()
    const word = take(WORD)
    if (word !== undefined) return JSON.parse(word) as boolean | null
    const digits = take(NUMBER)
    return digits === undefined || digits === '' ? fail() : new Digits(digits)
  }
  const whole = value(0)
  skip()
  return at === text.length ? whole : fail()
}

/** Writes it as people read it. */
export function write(value: Exact, indent = ''): string {
  const inner = `${indent}  `
  if (value instanceof Digits) return value.text
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[\n${value.map((item) => inner + write(item, inner)).join(',\n')}\n${indent}]`
  if (value instanceof Map) {
    if (value.size === 0) return '{}'
    return `{\n${[...value].map(([name, member]) => `${inner}${JSON.stringify(name)}: ${write(member, inner)}`).join(',\n')}\n${indent}}`
  }
  return JSON.stringify(value)
}

/** The spec of a resource as it is to be edited, without what only reads show. */
export function specOf(resource: string): string {
  const whole = read(resource)
  const spec = whole instanceof Map ? whole.get('spec') : undefined
  if (!(spec instanceof Map)) return '{}'
  spec.delete('trust_tier')
  spec.delete('version')
  return write(spec)
}

/** A JSON object with one more member, whose text goes out as it was typed. */
export function withMember(object: object, name: string, text: string): string {
  const rest = JSON.stringify(object).slice(1, -1)
  return `{${rest}${rest === '' ? '' : ','}${JSON.stringify(name)}:${text}}`
}
