// Exchanges that belong together: those of a tree of delegations, of a task, of a context. Each a short table.

import { Anchor, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Record_ } from '../api/shapes'
import { s } from '../strings'
import { Outcome } from './marks'
import { Said } from './text'
import { duration, When } from './time'
import { microseconds } from './timeline'

export function Exchanges({ rows, current, tenant, label }: {
  rows: { record: Record_; depth?: number }[]
  /** The record that is open. */
  current: string
  tenant: string
  label: string
}): ReactNode {
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label={s.tableOf(label)}>
      <table className="grid">
        <thead><tr><th scope="col">{s.time}</th><th scope="col">{s.principal}</th><th scope="col">{s.agent}</th><th scope="col">{s.operation}</th><th scope="col">{s.outcome}</th><th scope="col" className="num">{s.took}</th></tr></thead>
        <tbody>
          {rows.map(({ record, depth = 0 }) => {
            const here = record.id === current
            return (
              <tr key={record.id} aria-current={here ? 'true' : undefined} style={here ? { background: 'var(--info-soft)' } : undefined}>
                <td style={{ paddingLeft: 14 + Math.min(depth, 12) * 18 }}>
                  {depth > 0 && <span aria-hidden="true" className="muted">↳ </span>}
                  {here ? <><When at={record.opened_at} style="clock" /> <Text span size="xs" c="dimmed">{s.thisOne}</Text></> : <Anchor component={Link} to={`/t/${tenant}/exchanges/${encodeURIComponent(record.correlation_id)}` as string} size="sm"><When at={record.opened_at} style="clock" /></Anchor>}
                </td>
                <td><Said>{record.principal}</Said></td><td><Said>{record.card}</Said></td><td>{record.operation}</td>
                <td><Outcome of={record.outcome} /></td>
                <td className="num">{record.closed_at ? duration(microseconds(record.closed_at) - microseconds(record.opened_at)) : '–'}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
