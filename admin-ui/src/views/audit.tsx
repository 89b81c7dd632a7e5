// The audit trail: search it by server pages, of which a few are kept at a time however far one scrolls; take a copy along.

import { Anchor, Button, Group, Menu, Select, Stack, Text, TextInput } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState, type FormEvent, type ReactNode } from 'react'
import { api, ok } from '../api/client'
import { queries } from '../api/queries'
import { Outcome, OUTCOME_NAMES, outcomeWord } from '../parts/marks'
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
const PAGE = 100
/** Pages that are shown at a time; those before and after are read again when one scrolls there. */
const KEPT = 5
/** Where the first page begins. */
const FIRST = ''

export function Audit(): ReactNode {
  const { tenant } = useParams({ strict: false }) as { tenant: string }
  const given = useSearch({ strict: false }) as Filters
  const filters = Object.fromEntries(NAMES.flatMap((name) => (given[name] ? [[name, given[name]]] : []))) as Filters
  const navigate = useNavigate()
  // Where each page begins, by the cursor of the next: the way back, and how far down one is.
  const trail = useRef(new Map<string, { before: string; number: number }>())
  const records = useInfiniteQuery({
    queryKey: ['audit', tenant, filters],
    initialPageParam: FIRST,
    queryFn: async ({ pageParam }) => {
      const page = await ok(api.GET('/api/v1/audit', { params: { query: { tenant, ...filters, limit: PAGE, ...(pageParam ? { cursor: pageParam } : {}) } } }))
      const number = trail.current.get(pageParam)?.number ?? 0
      if (page.next_cursor) trail.current.set(page.next_cursor, { before: pageParam, number: number + 1 })
      return { ...page, number }
    },
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    getPreviousPageParam: (_page, _pages, at) => trail.current.get(at)?.before,
    maxPages: KEPT,
    refetchOnWindowFocus: false,
  })
  const refusals = useQuery({
    queryKey: ['refusals', tenant],
    queryFn: () => ok(api.GET('/api/v1/audit/refusals', { params: { query: { tenant, limit: 20 } } })),
  })
  const pages = records.data?.pages ?? []
  const items = pages.flatMap((page) => page.items)
  const before = (pages[0]?.number ?? 0) * PAGE
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
          <>
            {records.hasPreviousPage && <Reach label={s.newer} busy={records.isFetchingPreviousPage} fetch={() => void records.fetchPreviousPage()} />}
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
            {records.hasNextPage && <Reach label={s.more} busy={records.isFetchingNextPage} fetch={() => void records.fetchNextPage()} />}
            <Text size="xs" c="dimmed" p={12} role="status">{s.showingRows(before + 1, before + items.length)}{!records.hasNextPage && ` ${s.endOfRecords}`}</Text>
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

/** The way to the next page: followed when it comes into sight, or when it is pressed. */
function Reach({ label, busy, fetch }: { label: string; busy: boolean; fetch: () => void }): ReactNode {
  const place = useRef<HTMLDivElement>(null)
  const latest = useRef(fetch)
  latest.current = fetch
  useEffect(() => {
    if (!place.current || busy) return
    const seen = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) latest.current()
    }, { rootMargin: '200px' })
    seen.observe(place.current)
    return () => seen.disconnect()
  }, [busy])
  return <Group ref={place} p={12} justify="center"><Button size="compact-sm" variant="default" loading={busy} onClick={fetch}>{label}</Button></Group>
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
        <TextInput label={s.findings} size="xs" w={130} placeholder={s.anyFinding} value={values.finding ?? ''} onChange={(event) => set({ finding: event.currentTarget.value.trim() })} />
        <Button size="xs" type="submit">{s.search}</Button>
        {Object.keys(filters).length > 0 && <Button size="xs" variant="default" onClick={() => search({})}>{s.clear}</Button>}
      </Group>
    </form>
  )
}
