// Figures of a tenant in the few groups that people think in.

import type { Schemas } from '../api/client'

type Slot = Schemas['Slot']

const STOPPED = ['blocked', 'refused', 'could_not_scan']
const FAILED = ['upstream_error', 'upstream_abort', 'stream_incomplete', 'abandoned', 'interrupted']

export interface Grouped {
  at: string
  ok: number
  stopped: number
  failed: number
}

function sum(outcomes: Record<string, number>, names: string[]): number {
  return names.reduce((all, name) => all + (outcomes[name] ?? 0), 0)
}

export function group(slot: Slot): Grouped {
  const stopped = sum(slot.outcomes, STOPPED)
  const failed = sum(slot.outcomes, FAILED)
  return { at: slot.at, ok: slot.count - stopped - failed, stopped, failed }
}

export function grouped(slots: Slot[]): Grouped[] {
  return slots.map(group)
}

/** A share for people: none, under one per cent, or rounded. */
export function share(part: number, whole: number): string {
  if (whole === 0 || part === 0) return '0 %'
  const percent = (part / whole) * 100
  return percent < 1 ? '< 1 %' : `${Math.round(percent)} %`
}

/** Milliseconds for people. */
export function milliseconds(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–'
  return ms < 10 ? `${ms.toFixed(1)} ms` : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`
}
