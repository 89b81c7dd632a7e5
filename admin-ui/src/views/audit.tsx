// The audit trail: search it by server pages, take a copy along.

import { Anchor, Button, Group, Menu, Select, Stack, Text, TextInput } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useState, type FormEvent, type ReactNode } from 'react'
import { api, ok } from '../api/client'
import { queries } from '../api/queries'
import type { Record_ } from '../api/shapes'
import { csv, download } from '../parts/export'
import { Outcome, OUTCOME_NAMES, outcomeWord } from '../parts/marks'
import { Page, Panel } from '../parts/pieces'
import { Empty, Waiting, Wrong } from '../parts/states'
import { Said } from '../parts/text'
import { duration, When } from '../parts/time'
import { microseconds } from '../parts/timeline'
import { useTell } from '../parts/toast'
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
}

const NAMES = ['from', 'until', 'principal', 'card', 'operation', 'outcome', 'correlation_id', 'task_id'] as const
const PAGE = 100
/** Most records that an export from the page takes; more is for `chancery audit export`. */
const EXPORTED = 20_000

export function Audit(): ReactNode {
  const { tenant } = useParams({ strict: false }) as { tenant: string }
  const given = useSearch({ strict: false }) as Filters
  const filters = Object.fromEntries(NAMES.flatMap((name) => (given[name] ? [[name, given[name]]] : []))) as Filters
  const navigate = useNavigate()
  const tell = useTell()
  const [exporting, setExporting] = useState(false)
  const read = (cursor: string | undefined, limit: number) =>
    ok(api.GET('/api/v1/audit', { params: { query: { tenant, ...filters, limit, ...(cursor ? { cursor } : {}) } } }))
  const records = useInfiniteQuery({
    queryKey: ['audit', tenant, filters],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => read(pageParam, PAGE),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchOnWindowFocus: false,
  })
  const refusals = useQuery({
    queryKey: ['refusals', tenant],
    queryFn: () => ok(api.GET('/api/v1/audit/refusals', { params: { query: { tenant, limit: 20 } } })),
  })
  const items = records.data?.pages.flatMap((page) => page.items) ?? []
  const take = async (form: 'csv' | 'jsonl') => {
    setExporting(true)
    try {
      const all: Record_[] = []
      let cursor: string | undefined
      do {
        const page = await read(cursor, 500)
        all.push(...page.items)
        cursor = page.next_cursor ?? undefined
      } while (cursor && all.length < EXPORTED)
      const name = `audit-${tenant}-${new Date().toISOString().slice(0, 19).replace(/:/g, '')}`
      if (form === 'csv') download(`${name}.csv`, 'text/csv;charset=utf-8', csv(all))
      else download(`${name}.jsonl`, 'application/x-ndjson', all.map((one) => `${JSON.stringify(one)}\n`).join(''))
      tell(cursor ? s.exportedPart(all.length) : s.exported(all.length))
    } catch {
      tell(s.exportFailed, { bad: true })
    } finally {
      setExporting(false)
    }
  }
  return (
    <Page
      title={s.navAudit} lead={s.auditLead}
      actions={
        <Menu position="bottom-end" transitionProps={{ duration: 0 }}>
          <Menu.Target><Button variant="default" loading={exporting}>{s.export}</Button></Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => void take('csv')}>{s.exportCsv}</Menu.Item>
            <Menu.Item onClick={() => void take('jsonl')}>{s.exportJsonl}</Menu.Item>
          </Menu.Dropdown>
        </Menu>
      }
    >
      <Search key={JSON.stringify(filters)} tenant={tenant} filters={filters} search={(next) => void navigate({ to: `/t/${tenant}/audit`, search: next as never })} />
      <Wrong error={records.error} retry={() => void records.refetch()} />
      <Panel flush>
        {records.isPending ? <Waiting rows={10} /> : items.length === 0 && !records.error ? (
          <Empty title={s.noRecords}>{Object.keys(filters).length > 0 ? s.noRecordsFiltered : s.noRecordsText}</Empty>
        ) : (
          <>
            <div className="scroll-x" tabIndex={0} role="region" aria-label={s.navAudit}>
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
            <Group p={12} justify="space-between">
              <Text size="xs" c="dimmed">{s.recordsShown(items.length)}</Text>
              {records.hasNextPage && <Button size="compact-sm" variant="default" loading={records.isFetchingNextPage} onClick={() => void records.fetchNextPage()}>{s.more}</Button>}
            </Group>
          </>
        )}
      </Panel>
      {(refusals.data?.items ?? []).length > 0 && (
        <Stack mt={16}>
          <Panel title={s.refusals} flush>
            <Text size="sm" c="dimmed" px={14} pt={10}>{s.refusalsText}</Text>
            <div className="scroll-x" tabIndex={0} role="region" aria-label={s.refusals}>
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

/** A local time as `datetime-local` has it, and back. */
const local = (iso: string | undefined) => (iso ? new Date(Date.parse(iso) - new Date(iso).getTimezoneOffset() * 60_000).toISOString().slice(0, 16) : '')
const iso = (text: string) => (text ? new Date(text).toISOString() : '')

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
        <Button size="xs" type="submit">{s.search}</Button>
        {Object.keys(filters).length > 0 && <Button size="xs" variant="default" onClick={() => search({})}>{s.clear}</Button>}
      </Group>
    </form>
  )
}
