// Limits of the tenant, its agents, principals and grants, with what is used of them now.

import { Button, SegmentedControl, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { queries } from '../api/queries'
import { LimitedLink, LimitForm, type Limited } from '../parts/limitedit'
import { Meters } from '../parts/limits'
import { Page, Panel } from '../parts/pieces'
import { fullest, quotas, type Use } from '../parts/quota'
import { Empty, Waiting, Wrong } from '../parts/states'
import { DataTable, type Columns } from '../parts/table'
import { isPlatform, useMay, useMe } from '../session'
import { s } from '../strings'

const KINDS = ['tenant', 'card', 'principal', 'grant'] as const

export function Limits(): ReactNode {
  const { tenant } = useParams({ strict: false }) as { tenant: string }
  const { kind = '' } = useSearch({ strict: false }) as { kind?: string }
  const navigate = useNavigate()
  const uses = useQuery(queries.limits(tenant))
  const platform = isPlatform(useMe())
  const mayWrite = useMay(tenant, 'administer')
  const [edited, setEdited] = useState<{ kind: Limited; name: string } | 'new'>()
  // The tenant's own limits are a platform administrator's to change.
  const kinds: Limited[] = platform ? [...KINDS] : KINDS.filter((one) => one !== 'tenant')
  const limited = (uses.data?.items ?? []).filter((use) => quotas(use).length > 0)
  const rows = limited.filter((use) => kind === '' || use.kind === kind)
  const columns: Columns<Use> = [
    { id: 'kind', header: s.kind, accessorFn: (one) => kindWord(one.kind) },
    { id: 'name', header: s.name, accessorFn: (one) => one.name, cell: ({ row }) => <LimitedLink tenant={tenant} kind={row.original.kind} name={row.original.name} /> },
    { id: 'used', header: s.usedNow, accessorFn: fullest, sortDescFirst: true, cell: ({ row }) => <div style={{ maxWidth: 380 }}><Meters use={row.original} /></div> },
    {
      id: 'actions', header: () => <span className="skip">{s.actions}</span>,
      cell: ({ row: { original: one } }) => mayWrite && kinds.includes(one.kind as Limited) && (
        <div style={{ textAlign: 'right' }}><Button size="compact-xs" variant="default" onClick={() => setEdited({ kind: one.kind as Limited, name: one.name })} aria-label={`${s.edit} ${kindWord(one.kind)} ${one.name}`}>{s.edit}</Button></div>
      ),
    },
  ]
  return (
    <Page title={s.limits} lead={s.limitsLead} actions={mayWrite && <Button onClick={() => setEdited('new')}>{s.setLimit}</Button>}>
      <Wrong error={uses.error} retry={() => void uses.refetch()} />
      {uses.error && uses.data && <Text size="sm" c="dimmed" mb={10}>{s.numbersOld}</Text>}
      {limited.length > 0 && (
        <SegmentedControl
          mb={12} size="xs" aria-label={s.kind} value={kind} onChange={(to) => void navigate({ to: `/t/${tenant}/limits`, search: (to ? { kind: to } : {}) as never })}
          data={[{ value: '', label: s.all }, ...KINDS.map((value) => ({ value: value as string, label: s.limitedKinds[value] }))]}
        />
      )}
      <Panel flush>
        {uses.isPending ? <Waiting rows={5} /> : !uses.data ? null : limited.length === 0 ? (
          <Empty title={s.noLimitsTitle} action={mayWrite && <Button onClick={() => setEdited('new')}>{s.setLimit}</Button>}>{s.noLimitsText}</Empty>
        ) : <DataTable rows={rows} columns={columns} label={s.limits} searchable empty={s.noLimitsOfKind} />}
      </Panel>
      {limited.length > 0 && <Text size="xs" c="dimmed" mt={10}>{s.limitsNote}</Text>}
      {edited && <LimitForm tenant={tenant} kinds={kinds} of={edited === 'new' ? undefined : edited} close={() => setEdited(undefined)} />}
    </Page>
  )
}

function kindWord(kind: string): string {
  return (s.limitedKinds as Record<string, string>)[kind] ?? kind
}
