// A text with what detectors saw in it. Findings count bytes of UTF-8, the page counts letters.

export interface Piece {
  text: string
  found?: string
}

interface Span {
  detector: string
  action: string
  start: number
  end: number
}

export function marked(text: string, findings: Span[]): Piece[] {
  const bytes = new TextEncoder().encode(text)
  const decoder = new TextDecoder()
  const cut = (from: number, to: number) => decoder.decode(bytes.slice(from, to))
  const pieces: Piece[] = []
  let at = 0
  for (const span of [...findings].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const start = Math.max(at, span.start)
    const end = Math.min(bytes.length, span.end)
    if (end <= start) continue
    if (start > at) pieces.push({ text: cut(at, start) })
    pieces.push({ text: cut(start, end), found: `${span.detector}: ${span.action}` })
    at = end
  }
  if (at < bytes.length) pieces.push({ text: cut(at, bytes.length) })
  return pieces
}
