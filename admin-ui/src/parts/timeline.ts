// Where the time of an exchange went, as far as its record says.

import { s } from '../strings'

export interface Finding {
  detector?: string
  surface?: string
  action?: string
  pointer?: string
  count?: number
  /** The policy that minded it, `name@version`. */
  by?: string
  /** First byte of the match in the text at `pointer`, and one past the last. */
  span?: [number, number]
  /** The call of the chain whose caller it is about, from 1; none for who calls now. */
  hop?: number
}

export interface Detail {
  peer?: string
  entrance?: string
  method?: string
  caller_correlation_id?: string
  trace_id?: string
  /** What the caller said about its run, by name. */
  said?: { [name: string]: string }
  reason?: string
  context_id?: string
  policy?: string
  events?: number
  bytes_in?: number
  bytes_out?: number
  upstream_us?: number
  guard_us?: number
  findings?: Finding[]
  /** What each part took, in microseconds, by its name; absent in records from before it was measured. */
  stages?: { [Name in StageName]?: number }
}

/** The parts of an exchange in their order. */
const ORDER = ['admit_us', 'read_us', 'guard_in_us', 'agent_us', 'rest_us', 'guard_out_us', 'end_us'] as const
export type StageName = (typeof ORDER)[number]

/** Both halves of a record in one. */
export function detailOf(document: unknown): Detail {
  const { opened, closed } = (document ?? {}) as { opened?: object | null; closed?: object | null }
  return { ...opened, ...closed }
}

export interface Stage {
  name: string
  us: number
  /** In per cent of the whole. */
  from: number
  width: number
  kind: '' | 'guard' | 'rest'
}

/** RFC 3339 with up to six decimals, in microseconds. */
export function microseconds(iso: string): number {
  const digits = /\.(\d+)/.exec(iso)?.[1] ?? ''
  return Math.floor(Date.parse(iso) / 1000) * 1_000_000 + Number(digits.padEnd(6, '0').slice(0, 6))
}

export function timeline(opened: string, closed: string | undefined, detail: Detail): { stages: Stage[]; exact: boolean } {
  const measured = detail.stages ?? {}
  const known = ORDER.filter((name) => (measured[name] ?? 0) > 0)
  const whole = closed ? Math.max(1, microseconds(closed) - microseconds(opened)) : Math.max(1, (detail.upstream_us ?? 0) + (detail.guard_us ?? 0))
  const parts: { name: string; us: number; kind: Stage['kind'] }[] = known.length > 0
    ? known.map((name) => ({ name: s.stages[name], us: measured[name] ?? 0, kind: name.startsWith('guard') ? 'guard' : '' }))
    : [
        { name: s.stageGuard, us: detail.guard_us ?? 0, kind: 'guard' },
        { name: s.stageUpstream, us: detail.upstream_us ?? 0, kind: '' },
      ]
  const sum = parts.reduce((all, part) => all + part.us, 0)
  if (whole > sum) parts.push({ name: known.length > 0 ? s.stageRest : s.stageOurs, us: whole - sum, kind: 'rest' })
  const scale = Math.max(whole, sum)
  let at = 0
  const stages = parts.filter((part) => part.us > 0).map((part): Stage => {
    const stage = { ...part, from: (at / scale) * 100, width: (part.us / scale) * 100 }
    at += part.us
    return stage
  })
  return { stages: [{ name: s.stageAll, us: whole, from: 0, width: (whole / scale) * 100, kind: 'rest' }, ...stages], exact: known.length > 0 }
}
