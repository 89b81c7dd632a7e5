// What is wrong with the gateway as a whole, above every view: the store takes no writes, records can't be kept or brought
// home. Nothing where all is well.

import { Alert, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { api, ok, Problem, type Schemas } from '../api/client'
import { s } from '../strings'

type Health = Schemas['Health']

export interface Trouble {
  title: string
  text: string
}

/** What there is to say, the gravest first. */
export function troubles(health: Pick<Health, 'store' | 'audit'>): Trouble[] {
  const { store, audit } = health
  const percent = Math.round((audit.spool_bytes / Math.max(1, audit.spool_max_bytes)) * 100)
  return [
    ...(audit.state === 'failing' ? [{ title: s.auditFailing, text: s.auditFailingText }] : []),
    ...(audit.state === 'full' ? [{ title: s.auditFull, text: s.auditFullText }] : []),
    ...(store === 'read_only' ? [{ title: s.storeReadOnly, text: s.storeReadOnlyAdvice }] : []),
    ...(audit.state === 'ready' && audit.store_failures > 0 ? [{ title: s.auditBehind, text: s.auditBehindText(audit.store_failures, percent) }] : []),
    ...(audit.state === 'ready' && audit.store_failures === 0 && audit.high ? [{ title: s.auditHigh, text: s.auditHighText(percent) }] : []),
    ...(audit.rejected > 0 ? [{ title: s.auditRejected(audit.rejected), text: s.auditRejectedText }] : []),
    ...(audit.lost > 0 ? [{ title: s.auditLost(audit.lost), text: s.auditLostText }] : []),
  ]
}

export function Standing(): ReactNode {
  const health = useQuery({ queryKey: ['health'], queryFn: () => ok(api.GET('/api/v1/health')), refetchInterval: 15_000 })
  const problem = health.error instanceof Problem ? health.error : undefined
  const away: Trouble[] = problem && (problem.status === 503 || problem.status === 0)
    ? [problem.status === 503 ? { title: s.storeAway, text: s.storeAwayAdvice } : { title: s.unreachable, text: s.unreachableAdvice }]
    : []
  const all = [...away, ...(health.data && away.length === 0 ? troubles(health.data) : [])]
  if (all.length === 0) return null
  return (
    <Stack gap={8} px={24} pt={14} maw={1280} mx="auto" role="status" aria-label={s.standing}>
      {all.map((one) => (
        <Alert key={one.title} color="orange" variant="light" title={<span style={{ color: 'var(--warn)' }}>{one.title}</span>} py={8}>
          <Text size="sm">{one.text}</Text>
        </Alert>
      ))}
    </Stack>
  )
}
