// The tenant's agents.

import { Anchor, Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { queries, useCards } from '../api/queries'
import { dialectWord, type Card } from '../api/shapes'
import { Mark, State } from '../parts/marks'
import { Page, Panel } from '../parts/pieces'
import { Empty, Waiting, Wrong } from '../parts/states'
import { DataTable, type Columns } from '../parts/table'
import { Said } from '../parts/text'
import { When } from '../parts/time'
import { useMay } from '../session'
import { s } from '../strings'

export function RegisterButton({ tenant }: { tenant: string }): ReactNode {
  return <Button component={Link} to={`/t/${tenant}/register` as string}>{s.register}</Button>
}

export function Agents(): ReactNode {
  const { tenant } = useParams({ strict: false }) as { tenant: string }
  const cards = useCards(tenant)
  const stats = useQuery({ ...queries.stats(tenant, 60), refetchInterval: 30_000 })
  const mayWrite = useMay(tenant, 'administer')
  const health = new Map((stats.data?.agents ?? []).map((one) => [one.card, one]))
  const columns: Columns<Card> = [
    {
      id: 'name', header: s.agent, accessorFn: (card) => card.name,
      cell: ({ row: { original: card } }) => (
        <Anchor component={Link} to={`/t/${tenant}/agents/${card.name}` as string} size="sm" fw={550} className="name"><Said>{card.name}</Said></Anchor>
      ),
    },
    { id: 'state', header: s.state, accessorFn: (card) => card.spec.state ?? '', cell: ({ row }) => <State of={row.original.spec.state} /> },
    {
      id: 'health', header: s.lastHour, accessorFn: (card) => health.get(card.name)?.count ?? 0,
      cell: ({ row: { original: card } }) => {
        const seen = health.get(card.name)
        if (!seen) return <span className="muted">–</span>
        return seen.state === 'failing' ? <Mark tone="bad">{s.failing(seen.errors)}</Mark> : <span className="num">{s.calls(seen.count)}</span>
      },
    },
    { id: 'speaks', header: s.speaks, accessorFn: (card) => dialectWord(card.spec), cell: ({ getValue }) => <Said>{String(getValue())}</Said> },
    {
      id: 'address', header: s.address, accessorFn: (card) => card.spec.upstream?.interfaces?.[0]?.url ?? '',
      cell: ({ getValue }) => <span className="mono address" title={String(getValue())}><Said>{String(getValue())}</Said></span>,
    },
    { id: 'policy', header: s.policy, accessorFn: (card) => card.spec.policy ?? '', cell: ({ row }) => row.original.spec.policy ?? <span className="muted">{s.byDefault}</span> },
    { id: 'updated', header: s.changed, accessorFn: (card) => card.updated_at, cell: ({ row }) => <When at={row.original.updated_at} style="ago" /> },
  ]
  return (
    <Page title={s.agents} lead={s.agentsLead} actions={mayWrite && <RegisterButton tenant={tenant} />}>
      <Wrong error={cards.error} retry={() => void cards.refetch()} />
      <Panel flush>
        {cards.isPending ? <Waiting rows={8} /> : cards.data && cards.data.length === 0 ? (
          <Empty title={s.noAgents} action={mayWrite && <RegisterButton tenant={tenant} />}>{s.noAgentsText}</Empty>
        ) : (
          <DataTable rows={cards.data ?? []} columns={columns} label={s.agents} searchable />
        )}
      </Panel>
    </Page>
  )
}
