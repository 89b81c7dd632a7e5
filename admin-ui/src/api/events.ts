// Server-sent events from a fetch: the answer of a POST, piece by piece.

export interface ServerEvent {
  name: string
  data: string
}

/** Takes text in any pieces, gives whole events. */
export class EventParser {
  private rest = ''

  push(piece: string): ServerEvent[] {
    this.rest += piece.replace(/\r\n?/g, '\n')
    const events: ServerEvent[] = []
    for (;;) {
      const end = this.rest.indexOf('\n\n')
      if (end < 0) return events
      const event = parse(this.rest.slice(0, end))
      if (event) events.push(event)
      this.rest = this.rest.slice(end + 2)
    }
  }
}

function parse(block: string): ServerEvent | undefined {
  let name = 'message'
  const data: string[] = []
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':')
    if (colon === 0) continue
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') name = value
    if (field === 'data') data.push(value)
  }
  return data.length > 0 ? { name, data: data.join('\n') } : undefined
}

/** Reads a body to its end. */
export async function readEvents(body: ReadableStream<Uint8Array>, hear: (event: ServerEvent) => void): Promise<void> {
  const parser = new EventParser()
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    parser.push(value).forEach(hear)
  }
}
