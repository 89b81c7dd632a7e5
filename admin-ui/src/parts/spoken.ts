// The events of a test call in words.

import type { ServerEvent } from '../api/events'
import { s } from '../strings'

export interface Heard {
  kind: 'said' | 'note' | 'bad' | 'done'
  text: string
}

interface Part {
  text?: string
  data?: unknown
  url?: string
  raw?: string
  filename?: string
}

interface Spoken {
  parts?: Part[]
  artifacts?: { parts?: Part[] }[]
  artifact?: { parts?: Part[] }
  status?: { state?: string; message?: { parts?: Part[] } }
}

/** What people want to read of one event. */
export function spoken(event: ServerEvent): Heard {
  let data: Record<string, unknown>
  try {
    data = JSON.parse(event.data) as Record<string, unknown>
  } catch {
    return { kind: 'note', text: event.data }
  }
  const text = (key: string) => String(data[key] ?? '')
  if (event.name === 'sent') return { kind: 'note', text: `${text('url')} – ${s.testSent(text('operation'), text('dialect'))}` }
  if (event.name === 'blocked') return { kind: 'bad', text: s.testBlocked(text('rule'), text('surface')) }
  if (event.name === 'fault') return { kind: 'bad', text: `${s.testFault}: ${text('message')}` }
  if (event.name === 'failed') return { kind: 'bad', text: `${s.testFailed}: ${text('message')}` }
  if (event.name === 'done') return { kind: 'done', text: text('took_us') }
  return told(data)
}

/** A v1.0 answer or stream event: its texts, else what became of the task. */
export function told(data: Record<string, unknown>): Heard {
  const [kind, payload] = Object.entries(data).find(([, value]) => typeof value === 'object' && value !== null) ?? ['', {}]
  const { parts, artifacts, artifact, status } = payload as Spoken
  const all = [...(parts ?? []), ...(artifact?.parts ?? []), ...(artifacts ?? []).flatMap((one) => one.parts ?? []), ...(status?.message?.parts ?? [])]
  const texts = all.map(partText).filter((text) => text !== '')
  if (texts.length > 0) return { kind: 'said', text: texts.join('\n') }
  const state = status?.state?.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', ' ')
  return { kind: 'note', text: state ? `${kind === 'task' ? 'task' : 'status'}: ${state}` : kind }
}

function partText(part: Part): string {
  if (typeof part.text === 'string') return part.text
  if (part.data !== undefined) return JSON.stringify(part.data, null, 2)
  if (part.url || part.raw) return `[${part.filename ?? 'file'}]`
  return ''
}
