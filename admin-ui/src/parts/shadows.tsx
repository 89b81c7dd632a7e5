// What policies and grants in shadow mode would have done to the calls of the last day, with the way to those calls.

import { Anchor, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Schemas } from '../api/client'
import { queries } from '../api/queries'
import { s } from '../strings'
import { Panel } from './pieces'
import { Waiting, Wrong } from './states'
import { Said } from './text'
import { When } from './time'

export type Shadow = Schemas['ShadowView']

/** One number a calls' search stands behind. */
export interface Count {
  text: string
  /** The audit's search for exactly these calls. */
  query: string
}

/** What is worth telling of one: only what happened, or that nothing would have. */
export function counts(one: Shadow, most: number): Count[] {
  const number = (count: number) => (count >= most ? s.atLeast(count) : count.toLocaleString('en'))
  const name = encodeURIComponent(one.name)
  const of = number(one.of)
  if (one.kind === 'grant') return one.would_block > 0 ? [{ text: s.wouldDenyOf(number(one.would_block), of), query: `would_deny_by=${name}` }] : []
  return [
    ...(one.would_block > 0 ? [{ text: s.wouldBlockOf(number(one.would_block), of), query: `would_block_by=${name}` }] : []),
    ...(one.would_change > 0 ? [{ text: s.wouldChangeOf(number(one.would_change), of), query: `would_change_by=${name}` }] : []),
    ...(one.blocked > 0 ? [{ text: s.blockedOf(number(one.blocked), of), query: `blocked_by=${name}` }] : []),
  ]
}

function since(from: string): string {
  return `&from=${encodeURIComponent(from)}`
}

/** The counts of one policy or grant, each with the way to its calls. */
export function ShadowCounts({ tenant, kind, name }: { tenant: string; kind: 'policy' | 'grant'; name: string }): ReactNode {
  const told = useQuery(queries.shadow(tenant))
  const one = told.data?.items.find((item) => item.kind === kind && item.name === name)
  if (!told.data) return <Text span size="xs" c="dimmed">{told.isPending ? '…' : '–'}</Text>
  if (!one) return <Text span size="xs" c="dimmed">–</Text>
  const all = counts(one, told.data.most)
  if (all.length === 0) return <Text span size="xs" c="dimmed">{one.of > 0 ? s.nothingOf(one.of.toLocaleString('en')) : s.noCallsDay}</Text>
  return (
    <>
      {all.map((count) => (
        <div key={count.query}><Anchor component={Link} to={`/t/${tenant}/audit?${count.query}${since(told.data.from)}` as string} size="xs">{count.text}</Anchor></div>
      ))}
    </>
  )
}

/** All of them that would have done something. */
export function ShadowPanel({ tenant }: { tenant: string }): ReactNode {
  const told = useQuery(queries.shadow(tenant))
  const data = told.data
  const rows = (data?.items ?? []).filter((one) => one.would_block + one.would_change > 0)
  return (
    <Panel title={s.shadowTitle} flush>
      <Wrong error={told.error} retry={() => void told.refetch()} />
      {told.isPending ? <Waiting rows={3} /> : !data ? null : rows.length === 0 ? <Text size="sm" c="dimmed" p={14}>{s.shadowNone}</Text> : (
        <div className="scroll-x" tabIndex={0} role="region" aria-label={s.tableOf(s.shadowTitle)}>
          <table className="grid">
            <thead><tr><th scope="col">{s.policyOrGrant}</th><th scope="col">{s.lastDay}</th><th scope="col">{s.lastTime}</th></tr></thead>
            <tbody>
              {rows.map((one) => (
                <tr key={`${one.kind} ${one.name}`}>
                  <td><Anchor component={Link} to={`/t/${tenant}/${one.kind === 'policy' ? `policies/${one.name}` : 'grants'}` as string} size="sm"><Said>{one.name}</Said></Anchor> <Text span size="xs" c="dimmed">{one.kind === 'policy' ? s.policy : s.grant}</Text></td>
                  <td>{counts(one, data.most).map((count) => <div key={count.query}><Anchor component={Link} to={`/t/${tenant}/audit?${count.query}${since(data.from)}` as string} size="xs">{count.text}</Anchor></div>)}</td>
                  <td><When at={one.last_at} style="ago" /></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  )
}
