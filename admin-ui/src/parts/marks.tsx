// Small marks for states and outcomes. The word carries the meaning, the colour only helps.

import type { ReactNode } from 'react'

export type Tone = 'good' | 'warn' | 'bad' | 'calm' | 'info'

export function Mark({ tone, children, plain = false }: { tone: Tone; children: ReactNode; plain?: boolean }): ReactNode {
  return <span className={`mark mark-${tone}${plain ? ' plain' : ''}`}>{children}</span>
}

const OUTCOMES: Record<string, [Tone, string]> = {
  ok: ['good', 'ok'],
  agent_fault: ['warn', 'agent fault'],
  blocked: ['bad', 'blocked'],
  refused: ['bad', 'refused'],
  could_not_scan: ['bad', 'not inspectable'],
  upstream_error: ['bad', 'agent unreachable'],
  upstream_abort: ['bad', 'agent broke off'],
  stream_incomplete: ['warn', 'stream incomplete'],
  caller_gone: ['calm', 'caller gone'],
  draining: ['calm', 'draining'],
  interrupted: ['warn', 'interrupted'],
  abandoned: ['bad', 'abandoned'],
  open: ['info', 'open'],
}

export const OUTCOME_NAMES = Object.keys(OUTCOMES)

export function outcomeWord(outcome: string): string {
  return OUTCOMES[outcome]?.[1] ?? outcome
}

export function outcomeTone(outcome: string): Tone {
  return OUTCOMES[outcome]?.[0] ?? 'calm'
}

export function Outcome({ of }: { of: string }): ReactNode {
  return <Mark tone={outcomeTone(of)}>{outcomeWord(of)}</Mark>
}

const STATES: Record<string, Tone> = {
  published: 'good', active: 'good', enforce: 'good', ok: 'good', ready: 'good',
  draft: 'calm', next: 'info', approved: 'info', pending: 'warn', retiring: 'warn', shadow: 'warn',
  disabled: 'calm', suspended: 'bad', revoked: 'bad', expired: 'bad', gone: 'calm', failing: 'bad',
}

export function State({ of }: { of: string | undefined }): ReactNode {
  if (!of) return null
  return <Mark tone={STATES[of] ?? 'calm'}>{of}</Mark>
}
