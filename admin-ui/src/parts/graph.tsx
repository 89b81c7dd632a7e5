// Who calls whom: principals on the left, agents on the right, one curve for each pair. The table below says the same.

import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Schemas } from '../api/client'
import { s } from '../strings'
import { pieces } from './text'

type Edge = Schemas['Edge']

const MOST = 10
const ROW = 30
const plain = (text: string, most: number) => {
  const whole = pieces(text).map((piece) => piece.text).join('')
  return whole.length > most ? `${whole.slice(0, most - 1)}…` : whole
}

/** The busiest of one side, in order. */
export function busiest(edges: Edge[], side: 'principal' | 'card'): string[] {
  const counts = new Map<string, number>()
  for (const edge of edges) counts.set(edge[side], (counts.get(edge[side]) ?? 0) + edge.count)
  return [...counts.entries()].sort((a, b) => b[1] - a[1]).slice(0, MOST).map(([name]) => name)
}

export function Graph({ edges, tenant }: { edges: Edge[]; tenant: string }): ReactNode {
  const navigate = useNavigate()
  const left = busiest(edges, 'principal')
  const right = busiest(edges, 'card')
  const height = Math.max(left.length, right.length) * ROW + 12
  const most = Math.max(1, ...edges.map((edge) => edge.count))
  const y = (list: string[], name: string) => list.indexOf(name) * ROW + (height - list.length * ROW) / 2 + ROW / 2
  const shown = edges.filter((edge) => left.includes(edge.principal) && right.includes(edge.card))
  const look = (edge: Edge) => void navigate({ to: `/t/${tenant}/audit`, search: { principal: edge.principal, card: edge.card } as never })
  return (
    <svg viewBox={`0 0 640 ${height}`} width="100%" style={{ maxHeight: 360, display: 'block' }} role="img" aria-label={s.graphLabel}>
      {shown.map((edge) => {
        const [from, to] = [y(left, edge.principal), y(right, edge.card)]
        const bad = edge.errors > 0 ? 'var(--bad)' : edge.stopped > 0 ? 'var(--warn)' : 'var(--mantine-primary-color-filled)'
        const width = 1 + (Math.log1p(edge.count) / Math.log1p(most)) * 6
        return (
          <path
            key={`${edge.principal}→${edge.card}`} d={`M 200 ${from} C 300 ${from}, 340 ${to}, 440 ${to}`} fill="none" stroke={bad} strokeWidth={width} strokeOpacity={0.45}
            style={{ cursor: 'pointer' }} onClick={() => look(edge)}
          >
            <title>{`${edge.principal} → ${edge.card}: ${s.calls(edge.count)}, ${s.errorsCount(edge.errors)}, ${s.stoppedCount(edge.stopped)}`}</title>
          </path>
        )
      })}
      {left.map((name) => (
        <text key={name} x={192} y={y(left, name) + 4} textAnchor="end" fontSize={12} fill="currentColor">{plain(name, 26)}</text>
      ))}
      {right.map((name) => (
        <text key={name} x={448} y={y(right, name) + 4} fontSize={12} fill="currentColor">{plain(name, 26)}</text>
      ))}
    </svg>
  )
}
