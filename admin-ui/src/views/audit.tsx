// The audit trail: search it by server pages, of which a few are kept at a time however far one scrolls; take a copy along.

import { Anchor, Button, Group, Menu, Select, Stack, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useState, type FormEvent, type ReactNode } from 'react'
import { api, ok } from '../api/client'
import { queries } from '../api/queries'
import { Outcome, OUTCOME_NAMES, outcomeWord } from '../parts/marks'
import { iso, local, PAGE, Paged, usePages } from '../parts/pages'
import { Page, Panel } from '../parts/pieces'
import { Empty, Waiting, Wrong } from '../parts/states'
import { Said } from '../parts/text'
import { duration, When } from '../parts/time'
import { microseconds } from '../parts/timeline'
import { s } from '../strings'

interface Filters {
  from?: string
  until?: string
  principal?: string
  card?: string
  operation?: string
  outcome?: string
  correlation_id?: string
  task_id?: string
  finding?: string
  root?: string
  context_id?: string
  blocked_by?: string
  would_block_by?: string
  would_change_by?: string
  would_deny_by?: string
}

const NAMES = [
  'from', 'until', 'principal', 'card', 'operation', 'outcome', 'correlation_id', 'task_id', 'finding', 'root', 'context_id', 'blocked_by', 'would_block_by',
  'would_change_by', 'would_deny_by',
] as const
/** What other views ask for, without a field of its own in the form. */
const NARROWED = {
  root: s.onlyRoot, context_id: s.onlyContext, blocked_by: s.onlyBlockedBy, would_block_by: s.onlyWouldBlockBy, would_change_by: s.onlyWouldChangeBy, would_deny_by: s.onlyWouldDenyBy,
} as const

export function Audit(): ReactNode {
  const { tenant } = useParams({ strict: false }) as { tenant: string }
  const given = useSearch({ strict: false }) as Filters
  const filters = Object.fromEntries(NAMES.flatMap((name) => (given[name] ? [[name, given[name]]] : []))) as Filters
  const navigate = useNavigate()
  const pages = usePages(['audit', tenant, filters], (cursor) => ok(api.GET('/api/v1/audit', { params: { query: { tenant, ...filters, limit: PAGE, ...(cursor ? { cursor } : {}) } } })))
  const { query: records, items } = pages
  const refusals = useQuery({
    queryKey: ['refusals', tenant],
    queryFn: () => ok(api.GET('/api/v1/audit/refusals', { params: { query: { tenant, limit: 20 } } })),
  })
  const exported = (format: 'csv' | 'jsonl') => `/api/v1/audit/export/${format}?${new URLSearchParams({ tenant, ...filters }).toString()}`
  const search = (next: Filters) => void navigate({ to: `/t/${tenant}/audit`, search: next as never })
  return (
    <Page
      title={s.navAudit} lead={s.auditLead}
      actions={
        <Menu position="bottom-end" transitionProps={{ duration: 0 }}>
          <Menu.Target><Button variant="default">{s.export}</Button></Menu.Target>
          <Menu.Dropdown>
            <Menu.Item component="a" href={exported('csv')} download>{s.exportCsv}</Menu.Item>
            <Menu.Item component="a" href={exported('jsonl')} download>{s.exportJsonl}</Menu.Item>
            <Menu.Label>{s.exportBound}</Menu.Label>
          </Menu.Dropdown>
        </Menu>
      }
    >
      <Search key={JSON.stringify(filters)} tenant={tenant} filters={filters} search={search} />
      <Narrowed filters={filters} search={search} />
      <Wrong error={records.error} retry={() => void records.refetch()} />
      <Panel flush>
        {records.isPending ? <Waiting rows={10} /> : items.length === 0 && !records.error ? (
          <Empty title={s.noRecords}>{Object.keys(filters).length > 0 ? s.noRecordsFiltered : s.noRecordsText}</Empty>
        ) : (
          <Paged pages={pages}>
            <div className="scroll-x" tabIndex={0} role="region" aria-label={s.tableOf(s.navAudit)}>
              <table className="grid">
                <thead><tr><th scope="col">{s.time}</th><th scope="col">{s.principal}</th><th scope="col">{s.agent}</th><th scope="col">{s.operation}</th><th scope="col">{s.outcome}</th><th scope="col" className="num">{s.took}</th><th scope="col">{s.task}</th></tr></thead>
                <tbody>
                  {items.map((record) => (
                    <tr key={record.id}>
                      <td><Anchor component={Link} to={`/t/${tenant}/exchanges/${encodeURIComponent(record.correlation_id)}` as string} size="sm"><When at={record.opened_at} /></Anchor></td>
                      <td><Said>{record.principal}</Said></td><td><Said>{record.card}</Said></td><td>{record.operation}</td>
                      <td><Outcome of={record.outcome} />{record.fault && <Text span size="xs" c="dimmed"> <Said>{record.fault}</Said></Text>}</td>
                      <td className="num">{record.closed_at ? duration(microseconds(record.closed_at) - microseconds(record.opened_at)) : '–'}</td>
                      <td className="mono"><Said>{record.task_id}</Said></td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </Paged>
        )}
      </Panel>
      {(refusals.data?.items ?? []).length > 0 && (
        <Stack mt={16}>
          <Panel title={s.refusals} flush>
            <Text size="sm" c="dimmed" px={14} pt={10}>{s.refusalsText}</Text>
            <div className="scroll-x" tabIndex={0} role="region" aria-label={s.tableOf(s.refusals)}>
              <table className="grid">
                <thead><tr><th scope="col">{s.time}</th><th scope="col">{s.reason}</th><th scope="col">{s.from}</th><th scope="col" className="num">{s.count}</th></tr></thead>
                <tbody>
                  {(refusals.data?.items ?? []).map((one, at) => (
                    <tr key={at}><td><When at={one.window_start} /></td><td><Said>{one.reason}</Said></td><td className="mono"><Said>{one.source}</Said></td><td className="num">{one.count}</td></tr>
                  ))}
                </tbody>
              </table>
            </div>
          </Panel>
        </Stack>
      )}
    </Page>
  )
}

/** What the search is narrowed by beside the form, each to be dropped. */
function Narrowed({ filters, search }: { filters: Filters; search: (filters: Filters) => void }): ReactNode {
  const set = (Object.keys(NARROWED) as (keyof typeof NARROWED)[]).filter((name) => filters[name])
  if (set.length === 0) return null
  return (
    <Group gap={8} mb={16}>
      <Text size="xs" c="dimmed">{s.narrowed}</Text>
      {set.map((name) => {
        const what = NARROWED[name](filters[name] ?? '')
        return <Button key={name} size="compact-xs" variant="default" rightSection="×" aria-label={s.drop(what)} onClick={() => search({ ...filters, [name]: undefined })}><Said>{what}</Said></Button>
      })}
    </Group>
  )
}

function Search({ tenant, filters, search }: { tenant: string; filters: Filters; search: (filters: Filters) => void }): ReactNode {
  const [values, setValues] = useState(filters)
  const cards = useQuery(queries.cards(tenant))
  const set = (part: Partial<Filters>) => setValues({ ...values, ...part })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    search(Object.fromEntries(Object.entries(values).filter(([, value]) => value)) as Filters)
  }
  return (
    <form onSubmit={submit} role="search" aria-label={s.navAudit}>
      <Group gap={10} mb={16} align="end">
        <TextInput label={s.fromTime} type="datetime-local" size="xs" value={local(values.from)} onChange={(event) => set({ from: iso(event.currentTarget.value) })} />
        <TextInput label={s.untilTime} type="datetime-local" size="xs" value={local(values.until)} onChange={(event) => set({ until: iso(event.currentTarget.value) })} />
        <TextInput label={s.principal} size="xs" w={140} value={values.principal ?? ''} onChange={(event) => set({ principal: event.currentTarget.value })} />
        <Select label={s.agent} size="xs" w={150} clearable searchable data={[...new Set([...(cards.data ?? []).map((card) => card.name), ...(values.card ? [values.card] : [])])]} value={values.card ?? null} onChange={(card) => set({ card: card ?? '' })} />
        <Select label={s.outcome} size="xs" w={150} clearable data={OUTCOME_NAMES.map((value) => ({ value, label: outcomeWord(value) }))} value={values.outcome ?? null} onChange={(outcome) => set({ outcome: outcome ?? '' })} />
        <TextInput label={s.correlationId} size="xs" w={170} value={values.correlation_id ?? ''} onChange={(event) => set({ correlation_id: event.currentTarget.value.trim() })} />
        <TextInput label={s.task} size="xs" w={170} value={values.task_id ?? ''} onChange={(event) => set({ task_id: event.currentTarget.value.trim() })} />
        <TextInput label={s.findings} size="xs" w={130} placeholder={s.anyFinding} value={values.finding ?? ''} onChange={(event) => set({ finding: event.currentTarget.value.trim() })} />
        <Button size="xs" type="submit">{s.search}</Button>
        {Object.keys(filters).length > 0 && <Button size="xs" variant="default" onClick={() => search({})}>{s.clear}</Button>}
      </Group>
    </form>
  )
}
