// Limits and what is used of them, as numbers.

import type { Schemas } from '../api/client'

export const LIMITS = ['per_minute', 'concurrent', 'streams', 'daily', 'monthly'] as const
export type LimitName = (typeof LIMITS)[number]
export type CallLimits = Partial<Record<LimitName, number>>
export type Use = Schemas['Use']

export interface Quota {
  name: LimitName
  used: number
  most: number
  /** From 0 to 1. */
  share: number
}

/** What is used of each limit that is set. */
export function quotas(use: Use): Quota[] {
  const found: Quota[] = []
  for (const name of LIMITS) {
    const most = use.limits[name]
    if (most === undefined || most === null) continue
    const used = usedOf(use, name, most)
    found.push({ name, used, most, share: most > 0 ? Math.min(1, used / most) : 1 })
  }
  return found
}

function usedOf(use: Use, name: LimitName, most: number): number {
  switch (name) {
    case 'per_minute': return Math.max(0, most - (use.used.left_in_minute ?? most))
    case 'concurrent': return use.used.concurrent
    case 'streams': return use.used.streams
    case 'daily': return use.used.daily ?? 0
    case 'monthly': return use.used.monthly ?? 0
  }
}

/** How near the nearest limit is. */
export function fullest(use: Use): number {
  return Math.max(0, ...quotas(use).map((one) => one.share))
}

/** Limits with one of them set or, by an empty field, taken away. */
export function withLimit(limits: CallLimits, name: LimitName, value: number | string): CallLimits {
  const next = { ...limits }
  const number = Number(value)
  if (value === '' || !Number.isFinite(number)) delete next[name]
  else next[name] = number
  return next
}

/** Only the members that count calls. */
export function callLimits(limits: Record<string, unknown> | undefined): CallLimits {
  const found: CallLimits = {}
  for (const name of LIMITS) {
    const value = limits?.[name]
    if (typeof value === 'number') found[name] = value
  }
  return found
}

/** `given` with its call limits replaced: others that it holds (sizes, times) stay. */
export function mergedLimits(given: Record<string, unknown> | undefined, calls: CallLimits): Record<string, unknown> {
  const next: Record<string, unknown> = { ...given }
  for (const name of LIMITS) delete next[name]
  return { ...next, ...calls }
}
