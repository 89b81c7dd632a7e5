// Two documents line by line: what stayed, what went, what came. Myers is not needed at this size.

export interface DiffLine {
  kind: 'same' | 'add' | 'del' | 'gap'
  text: string
}

const LONGEST = 4000

export function diff(before: string, after: string): DiffLine[] {
  const a = before.split('\n').slice(0, LONGEST)
  const b = after.split('\n').slice(0, LONGEST)
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
  const middle = changed(a.slice(head, a.length - tail), b.slice(head, b.length - tail))
  const same = (text: string): DiffLine => ({ kind: 'same', text })
  return [...a.slice(0, head).map(same), ...middle, ...a.slice(a.length - tail).map(same)]
}

function changed(a: string[], b: string[]): DiffLine[] {
  if (a.length * b.length > 4_000_000) {
    return [...a.map((text): DiffLine => ({ kind: 'del', text })), ...b.map((text): DiffLine => ({ kind: 'add', text }))]
  }
  const width = b.length + 1
  const lengths = new Uint16Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = a[i] === b[j]
        ? lengths[(i + 1) * width + j + 1]! + 1
        : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!)
    }
  }
  const lines: DiffLine[] = []
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: 'same', text: a[i]! })
      i++
      j++
    } else if (j >= b.length || (i < a.length && lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)) {
      lines.push({ kind: 'del', text: a[i++]! })
    } else {
      lines.push({ kind: 'add', text: b[j++]! })
    }
  }
  return lines
}

/** Only what is near a change; the rest is told as a gap. */
export function folded(lines: DiffLine[], around = 3): DiffLine[] {
  const near = lines.map((_, at) =>
    lines.slice(Math.max(0, at - around), at + around + 1).some((line) => line.kind !== 'same'),
  )
  const out: DiffLine[] = []
  let hidden = 0
  lines.forEach((line, at) => {
    if (near[at]) {
      if (hidden > 0) out.push({ kind: 'gap', text: `${hidden}` })
      hidden = 0
      out.push(line)
    } else hidden++
  })
  if (hidden > 0 && out.length > 0) out.push({ kind: 'gap', text: `${hidden}` })
  return out
}
