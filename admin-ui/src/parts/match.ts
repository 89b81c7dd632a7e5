// What is meant by a few letters: beginnings before middles, letters in order at last.

export interface Entry {
  label: string
  kind: string
  to: string
}

const MOST = 40

export function matches(entries: Entry[], text: string): Entry[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return entries.slice(0, MOST)
  return entries
    .map((entry, at) => ({ entry, at, score: score(entry.label.toLowerCase(), wanted) }))
    .filter((one) => one.score > 0)
    .sort((a, b) => b.score - a.score || a.at - b.at)
    .slice(0, MOST)
    .map((one) => one.entry)
}

function score(label: string, wanted: string): number {
  if (label === wanted) return 5
  if (label.startsWith(wanted)) return 4
  if (label.split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(wanted))) return 3
  if (label.includes(wanted)) return 2
  let at = 0
  for (const letter of label) if (letter === wanted[at]) at++
  return at === wanted.length ? 1 : 0
}
