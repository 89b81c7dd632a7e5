// Limits: their fields in forms, their words in tables, and what is used of them now.

import { Group, NumberInput, SimpleGrid, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Problem } from '../api/client'
import { queries } from '../api/queries'
import { s } from '../strings'
import { LIMITS, quotas, withLimit, type CallLimits, type Quota, type Use } from './quota'

export function LimitFields({ limits, set, problem }: { limits: CallLimits; set: (limits: CallLimits) => void; problem?: Problem | undefined }): ReactNode {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }} spacing={12}>
      {LIMITS.map((name) => (
        <NumberInput
          key={name} label={s.limitNames[name]} min={1} allowDecimal={false} allowNegative={false} thousandSeparator=" " placeholder={s.unlimited}
          value={limits[name] ?? ''} onChange={(value) => set(withLimit(limits, name, value))} error={problem?.of(`limits.${name}`)}
        />
      ))}
    </SimpleGrid>
  )
}

/** Limits in one line. */
export function limitWords(limits: Record<string, unknown> | undefined): string {
  return LIMITS.flatMap((name) => (typeof limits?.[name] === 'number' ? [`${s.limitWords[name]} ${Number(limits[name]).toLocaleString('en-GB')}`] : [])).join(', ')
}

/** One limit and what is used of it. The numbers carry the meaning, the bar only helps. */
export function Meter({ quota }: { quota: Quota }): ReactNode {
  const tone = quota.share >= 1 ? 'full' : quota.share >= 0.8 ? 'near' : ''
  return (
    <div className="meter">
      <Group justify="space-between" gap={8} wrap="nowrap">
        <span>{s.limitShort[quota.name]}</span>
        <span className="num">{s.usedOf(quota.used, quota.most)}{quota.share >= 1 && <strong> · {s.limitFull}</strong>}</span>
      </Group>
      <div className="bar-track" aria-hidden="true">{quota.used > 0 && <div className={`bar ${tone}`} style={{ width: `${quota.share * 100}%` }} />}</div>
    </div>
  )
}

export function Meters({ use }: { use: Use }): ReactNode {
  const all = quotas(use)
  if (all.length === 0) return <Text size="sm" c="dimmed">{s.noLimits}</Text>
  return <Stack gap={8}>{all.map((quota) => <Meter key={quota.name} quota={quota} />)}</Stack>
}

/** What is used now of the limits of one thing; nothing of it is served while it is disabled. */
export function UseOf({ tenant, kind, name }: { tenant: string; kind: Use['kind']; name: string }): ReactNode {
  const uses = useQuery(queries.limits(tenant))
  const use = uses.data?.items.find((one) => one.kind === kind && one.name === name)
  return use ? <Meters use={use} /> : <Text size="sm" c="dimmed">{uses.isPending ? s.loading : s.noLimits}</Text>
}
