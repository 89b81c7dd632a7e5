// Where in a JSON text a dotted path such as `spec.upstream.interfaces.0.url` is, to mark a problem there.

export interface Place {
  from: number
  to: number
}

/** The key or element that the path names; as much of it as is there. */
export function placeOf(text: string, path: string): Place {
  const names = path.split(/[./]/).filter((name) => name !== '')
  // What is edited is the spec, and the API names its members from the body on.
  const wanted = names[0] === 'spec' || names[0] === 'settings' ? names.slice(1) : names
  let found: Place = { from: 0, to: Math.min(1, text.length) }
  const at = new Scanner(text)
  try {
    for (const name of wanted) {
      const next = at.enter(name)
      if (!next) break
      found = next
    }
  } catch {
    // The text is no JSON; the other linter says where.
  }
  return found
}

/** The rest of the line that a problem names (`line 3, column 5: …`); the whole first line where it names none. */
export function placeOfLine(text: string, problem: string): Place {
  const named = /line (\d+)(?:, column (\d+))?/.exec(problem)
  const lines = text.split('\n')
  const line = Math.min(Number(named?.[1] ?? 1), lines.length) - 1
  const before = lines.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0)
  // Columns count characters, not the halves that some of them have here.
  const within = [...(lines[line] ?? '')].slice(0, Number(named?.[2] ?? 1) - 1).join('').length
  const to = before + (lines[line] ?? '').length
  return { from: Math.min(before + within, to), to }
}

class Scanner {
  private at = 0
  private readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** Moves to the value of a member or element of the value at hand. */
  enter(name: string): Place | undefined {
    this.space()
    const opens = this.text[this.at]
    if (opens === '{') return this.member(name)
    if (opens === '[') return this.element(Number(name))
    return undefined
  }

  private member(name: string): Place | undefined {
    this.at++
    for (;;) {
      this.space()
      if (this.text[this.at] !== '"') return undefined
      const from = this.at
      this.string()
      const key = JSON.parse(this.text.slice(from, this.at)) as string
      const to = this.at
      this.space()
      if (this.text[this.at] !== ':') return undefined
      this.at++
      this.space()
      if (key === name) return { from, to }
      this.skip()
      this.space()
      if (this.text[this.at] !== ',') return undefined
      this.at++
    }
  }

  private element(index: number): Place | undefined {
    this.at++
    for (let at = 0; ; at++) {
      this.space()
      if (this.text[this.at] === ']' || this.at >= this.text.length) return undefined
      const from = this.at
      if (at === index) {
        const back = this.at
        this.skip()
        const to = this.at
        this.at = back
        return { from, to }
      }
      this.skip()
      this.space()
      if (this.text[this.at] !== ',') return undefined
      this.at++
    }
  }

  private space(): void {
    while (/\s/.test(this.text[this.at] ?? '')) this.at++
  }

  private string(): void {
    this.at++
    while (this.at < this.text.length && this.text[this.at] !== '"') this.at += this.text[this.at] === '\\' ? 2 : 1
    this.at++
  }

  private skip(): void {
    let depth = 0
    while (this.at < this.text.length) {
      const letter = this.text[this.at]!
      if (letter === '"') {
        this.string()
        if (depth === 0) return
        continue
      }
      if (letter === '{' || letter === '[') depth++
      if (letter === '}' || letter === ']') {
        if (depth === 0) return
        depth--
        this.at++
        if (depth === 0) return
        continue
      }
      if (depth === 0 && (letter === ',' || /\s/.test(letter))) return
      this.at++
    }
  }
}
