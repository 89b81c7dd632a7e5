// One exchange: who asked whom for what, how long each part took, what the detectors saw, what it belongs to. Never what
// was said.

import { Anchor, Button, Group, Stack, Tabs, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { api, ok } from '../api/client'
import type { Record_ } from '../api/shapes'
import { Exchanges } from '../parts/exchanges'
import { Mark, Outcome } from '../parts/marks'
import { Code, Copy, Page, Panel } from '../parts/pieces'
import { Empty, Waiting, Wrong } from '../parts/states'
import { Said } from '../parts/text'
import { duration, When } from '../parts/time'
import { detailOf, timeline, type Detail, type Finding } from '../parts/timeline'
import { flat, trees } from '../parts/tree'
import { s } from '../strings'

/** Most exchanges of a tree, task or context that are shown here; the audit has them all. */
const SHOWN = 100

export function Exchange(): ReactNode {
  const { tenant, id } = useParams({ strict: false }) as { tenant: string; id: string }
  const found = useQuery({
    queryKey: ['audit', tenant, 'one', id],
    queryFn: () => ok(api.GET('/api/v1/audit', { params: { query: { tenant, correlation_id: id, limit: 20 } } })),
    // Records reach the database a moment after the exchange has ended.
    refetchInterval: (query) => ((query.state.data?.items ?? []).some((one) => one.closed_at) || query.state.dataUpdateCount > 20 ? false : 700),
  })
  const record = found.data?.items[0]
  return (
    <Page
      title={s.exchange}
      crumbs={<><Anchor component={Link} to={`/t/${tenant}/mission` as string} size="sm">{s.navMission}</Anchor><span>/</span><span className="mono"><Said>{id}</Said></span></>}
    >
      <Wrong error={found.error} retry={() => void found.refetch()} />
      {found.isPending && <Panel flush><Waiting /></Panel>}
      {found.data && !record && <Panel><Empty title={s.notRecordedYet} action={<Button variant="default" onClick={() => void found.refetch()}>{s.tryAgain}</Button>}>{s.notRecordedText}</Empty></Panel>}
      {record && <Facts record={record} others={(found.data?.items ?? []).slice(1)} tenant={tenant} />}
    </Page>
  )
}

function Facts({ record, others, tenant }: { record: Record_; others: Record_[]; tenant: string }): ReactNode {
  const detail = detailOf(record.detail)
  const line = timeline(record.opened_at, record.closed_at ?? undefined, detail)
  return (
    <div className="wide-left">
      <Stack gap={16} style={{ minWidth: 0 }}>
        <Panel title={s.timeline}>
          <Stack gap={10}>
            {line.stages.map((stage) => (
              <div key={stage.name} style={{ display: 'grid', gridTemplateColumns: 'minmax(90px, 150px) 1fr 80px', gap: 12, alignItems: 'center', fontSize: 13 }}>
                <span>{stage.name}</span>
                <div className="bar-track"><div className={`bar ${stage.kind}`} style={{ left: `${stage.from}%`, width: `${stage.width}%` }} /></div>
                <span className="num" style={{ textAlign: 'right' }}>{duration(stage.us)}</span>
              </div>
            ))}
            <Text size="xs" c="dimmed">{line.exact ? s.timelineExact : s.timelineRough}</Text>
          </Stack>
        </Panel>
        <Findings findings={detail.findings ?? []} tenant={tenant} />
        <Delegation record={record} tenant={tenant} />
        <History record={record} context={detail.context_id} tenant={tenant} />
        {others.length > 0 && <Panel title={s.sameId} flush><Exchanges rows={others.map((other) => ({ record: other }))} current={record.id} tenant={tenant} label={s.sameId} /></Panel>}
        <details><summary style={{ cursor: 'pointer', fontSize: 13, marginBottom: 8 }}>{s.rawRecord}</summary><Code text={JSON.stringify(record, null, 2)} label={s.rawRecord} /></details>
      </Stack>
      <Stack gap={16} style={{ minWidth: 0 }}>
        <Panel title={s.facts}>
          <dl className="facts">
            <dt>{s.outcome}</dt><dd><Outcome of={record.outcome} /></dd>
            {record.fault && <><dt>{s.fault}</dt><dd><Said>{record.fault}</Said></dd></>}
            {detail.reason && <><dt>{s.reason}</dt><dd><Said>{detail.reason}</Said></dd></>}
            <dt>{s.principal}</dt><dd>{record.principal ? <Anchor component={Link} to={`/t/${tenant}/principals/${record.principal}` as string} size="sm"><Said>{record.principal}</Said></Anchor> : '–'}</dd>
            <dt>{s.key}</dt><dd className="mono"><Said>{record.key_id}</Said></dd>
            <dt>{s.agent}</dt><dd>{record.card ? <Anchor component={Link} to={`/t/${tenant}/agents/${record.card}` as string} size="sm"><Said>{record.card}</Said></Anchor> : '–'}</dd>
            <dt>{s.operation}</dt><dd>{record.operation ?? '–'}</dd>
            <dt>{s.dialect}</dt><dd>{record.dialect ?? '–'}</dd>
            <dt>{s.status}</dt><dd className="num">{record.status ?? '–'}</dd>
            <dt>{s.began}</dt><dd><When at={record.opened_at} /></dd>
            <dt>{s.ended}</dt><dd><When at={record.closed_at} /></dd>
            {record.task_id && <><dt>{s.task}</dt><dd className="mono"><Said>{record.task_id}</Said></dd></>}
            {detail.context_id && <><dt>{s.context}</dt><dd className="mono"><Said>{detail.context_id}</Said></dd></>}
            {detail.policy && <><dt>{s.policy}</dt><dd><Said>{detail.policy}</Said></dd></>}
            {detail.events !== undefined && detail.events > 0 && <><dt>{s.events}</dt><dd className="num">{detail.events}</dd></>}
            <dt>{s.bytes}</dt><dd className="num">{s.bytesInOut(detail.bytes_in ?? 0, detail.bytes_out ?? 0)}</dd>
            <dt>{s.correlationId}</dt><dd><Group gap={6}><span className="mono"><Said>{record.correlation_id}</Said></span><Copy text={record.correlation_id} /></Group></dd>
          </dl>
        </Panel>
        <Told detail={detail} />
      </Stack>
    </div>
  )
}

function Findings({ findings, tenant }: { findings: Finding[]; tenant: string }): ReactNode {
  return (
    <Panel title={s.findings} flush>
      {findings.length === 0 ? <Text size="sm" c="dimmed" p={14}>{s.noFindings}</Text> : (
        <div className="scroll-x" tabIndex={0} role="region" aria-label={s.tableOf(s.findings)}>
          <table className="grid">
            <thead><tr><th scope="col">{s.detector}</th><th scope="col">{s.policy}</th><th scope="col">{s.action}</th><th scope="col">{s.surface}</th><th scope="col">{s.where}</th></tr></thead>
            <tbody>
              {findings.map((one, at) => (
                <tr key={at}>
                  <td>{one.detector === 'more' ? s.moreFindings(one.count ?? 0) : <><Said>{one.detector}</Said>{(one.count ?? 1) > 1 && ` × ${one.count}`}</>}</td>
                  <td>{one.by && <Anchor component={Link} to={`/t/${tenant}/policies/${one.by.split('@')[0]}` as string} size="sm"><Said>{one.by}</Said></Anchor>}</td>
                  <td>{one.action && <Mark tone={one.action.endsWith('/shadow') ? 'warn' : one.action.startsWith('block') ? 'bad' : 'info'}>{one.action.replace('/', ', ')}</Mark>}</td>
                  <td>{one.surface}</td>
                  <td className="mono"><Said>{one.pointer}</Said>{one.span && <Text span size="xs" c="dimmed"> {s.bytesAt(one.span[0], one.span[1])}</Text>}{one.hop && <Text span size="xs" c="dimmed">{s.ofHop(one.hop)}</Text>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  )
}

/** The tree of calls that this one belongs to, where there is more than itself in it. */
function Delegation({ record, tenant }: { record: Record_; tenant: string }): ReactNode {
  const root = record.root ?? record.delegation?.root
  const tree = useQuery({
    queryKey: ['audit', tenant, 'tree', root],
    enabled: root !== undefined && root !== null,
    queryFn: () => ok(api.GET('/api/v1/audit', { params: { query: { tenant, root: root ?? '', limit: SHOWN } } })),
  })
  const items = tree.data?.items ?? []
  const chain = record.delegation
  if (!chain && items.length < 2 && !tree.error) return null
  return (
    <Panel title={s.delegation} flush>
      {chain && (
        <dl className="facts" style={{ padding: 14 }}>
          <dt>{s.onBehalfOf}</dt><dd><Said>{chain.subject}</Said></dd>
          <dt>{s.actor}</dt><dd><Said>{chain.actor}</Said></dd>
          <dt>{s.depth}</dt><dd className="num">{chain.depth}</dd>
          <dt>{s.hops}</dt><dd className="mono"><Said>{chain.chain.split(',').join(' → ')}</Said></dd>
          <dt>{s.firstCall}</dt><dd className="mono"><Said>{chain.root}</Said></dd>
        </dl>
      )}
      <Wrong error={tree.error} retry={() => void tree.refetch()} />
      {tree.isLoading ? <Waiting rows={3} /> : items.length > 0 && <Exchanges rows={flat(trees(items))} current={record.id} tenant={tenant} label={s.delegation} />}
      {tree.data?.next_cursor && root && <Text size="xs" p={14}><Anchor component={Link} to={`/t/${tenant}/audit?root=${encodeURIComponent(root)}` as string} size="xs">{s.moreInAudit}</Anchor></Text>}
    </Panel>
  )
}

/** The other exchanges of the same task, and of the same context. */
function History({ record, context, tenant }: { record: Record_; context: string | undefined; tenant: string }): ReactNode {
  const task = record.task_id ?? undefined
  if (!task && !context) return null
  return (
    <Panel title={s.history} flush>
      <Tabs defaultValue={task ? 'task' : 'context'} keepMounted={false}>
        <Tabs.List px={14}>
          {task && <Tabs.Tab value="task">{s.ofTheTask}</Tabs.Tab>}
          {context && <Tabs.Tab value="context">{s.ofTheContext}</Tabs.Tab>}
        </Tabs.List>
        {task && <Tabs.Panel value="task"><Related tenant={tenant} current={record.id} by={{ task_id: task, ...(record.card ? { card: record.card } : {}) }} label={s.ofTheTask} /></Tabs.Panel>}
        {context && <Tabs.Panel value="context"><Related tenant={tenant} current={record.id} by={{ context_id: context }} label={s.ofTheContext} /></Tabs.Panel>}
      </Tabs>
    </Panel>
  )
}

function Related({ tenant, current, by, label }: { tenant: string; current: string; by: Record<string, string>; label: string }): ReactNode {
  const found = useQuery({
    queryKey: ['audit', tenant, 'related', by],
    queryFn: () => ok(api.GET('/api/v1/audit', { params: { query: { tenant, ...by, limit: SHOWN } } })),
  })
  const items = [...(found.data?.items ?? [])].reverse()
  return (
    <>
      <Wrong error={found.error} retry={() => void found.refetch()} />
      {found.isPending ? <Waiting rows={3} /> : items.length === 0 ? <Text size="sm" c="dimmed" p={14}>{s.noneRecorded}</Text> : <Exchanges rows={items.map((record) => ({ record }))} current={current} tenant={tenant} label={label} />}
      <Text size="xs" p={14}><Anchor component={Link} to={`/t/${tenant}/audit?${new URLSearchParams(by).toString()}` as string} size="xs">{found.data?.next_cursor ? s.moreInAudit : s.inAudit}</Anchor></Text>
    </>
  )
}

/** What is kept of the request's head, which is this and nothing else. */
function Told({ detail }: { detail: Detail }): ReactNode {
  const said = Object.entries(detail.said ?? {})
  return (
    <Panel title={s.head}>
      <dl className="facts">
        <dt>{s.from}</dt><dd className="mono"><Said>{detail.peer}</Said></dd>
        <dt>{s.entrance}</dt><dd>{[detail.entrance, detail.method].filter(Boolean).join(', ')}</dd>
        {detail.caller_correlation_id && <><dt>{s.callersId}</dt><dd className="mono"><Said>{detail.caller_correlation_id}</Said></dd></>}
        {detail.trace_id && <><dt>{s.traceId}</dt><dd><Group gap={6}><span className="mono"><Said>{detail.trace_id}</Said></span><Copy text={detail.trace_id} /></Group></dd></>}
        {said.map(([name, value]) => <div key={name} style={{ display: 'contents' }}><dt>{name}</dt><dd className="mono"><Said>{value}</Said></dd></div>)}
      </dl>
      <Text size="xs" c="dimmed" mt={10}>{s.headText}</Text>
    </Panel>
  )
}
