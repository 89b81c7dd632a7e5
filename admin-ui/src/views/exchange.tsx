// One exchange: who asked whom for what, how long each part took, what the detectors saw. Never what was said.

import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { api, ok } from '../api/client'
import type { Record_ } from '../api/shapes'
import { Mark, Outcome } from '../parts/marks'
import { Code, Copy, Page, Panel } from '../parts/pieces'
import { Empty, Waiting, Wrong } from '../parts/states'
import { Said } from '../parts/text'
import { duration, When } from '../parts/time'
import { detailOf, timeline } from '../parts/timeline'
import { s } from '../strings'

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
      {record && <Facts record={record} tenant={tenant} />}
    </Page>
  )
}

function Facts({ record, tenant }: { record: Record_; tenant: string }): ReactNode {
  const detail = detailOf(record.detail)
  const line = timeline(record.opened_at, record.closed_at ?? undefined, detail)
  const findings = detail.findings ?? []
  return (
    <div className="wide-left">
      <Stack gap={16}>
        <Panel title={s.timeline}>
          <Stack gap={10}>
            {line.stages.map((stage) => (
              <div key={stage.name} style={{ display: 'grid', gridTemplateColumns: '150px 1fr 90px', gap: 12, alignItems: 'center', fontSize: 13 }}>
                <span>{stage.name}</span>
                <div className="bar-track"><div className={`bar ${stage.kind}`} style={{ left: `${stage.from}%`, width: `${stage.width}%` }} /></div>
                <span className="num" style={{ textAlign: 'right' }}>{duration(stage.us)}</span>
              </div>
            ))}
            <Text size="xs" c="dimmed">{line.exact ? s.timelineExact : s.timelineRough}</Text>
          </Stack>
        </Panel>
        <Panel title={s.findings} flush>
          {findings.length === 0 ? <Text size="sm" c="dimmed" p={14}>{s.noFindings}</Text> : (
            <div className="scroll-x" tabIndex={0} role="region" aria-label={s.findings}>
              <table className="grid">
                <thead><tr><th scope="col">{s.detector}</th><th scope="col">{s.action}</th><th scope="col">{s.surface}</th><th scope="col">{s.where}</th></tr></thead>
                <tbody>
                  {findings.map((one, at) => (
                    <tr key={at}>
                      <td><Said>{one.detector}</Said>{(one.count ?? 1) > 1 && ` × ${one.count}`}</td>
                      <td><Mark tone={one.action?.endsWith('/shadow') ? 'warn' : one.action?.startsWith('block') ? 'bad' : 'info'}>{one.action?.replace('/', ', ')}</Mark></td>
                      <td>{one.surface}</td><td className="mono"><Said>{one.pointer}</Said></td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </Panel>
        <details><summary style={{ cursor: 'pointer', fontSize: 13, marginBottom: 8 }}>{s.rawRecord}</summary><Code text={JSON.stringify(record, null, 2)} label={s.rawRecord} /></details>
      </Stack>
      <Panel title={s.facts}>
        <dl className="facts">
          <dt>{s.outcome}</dt><dd><Outcome of={record.outcome} /></dd>
          {record.fault && <><dt>{s.fault}</dt><dd><Said>{record.fault}</Said></dd></>}
          <dt>{s.principal}</dt><dd>{record.principal ? <Anchor component={Link} to={`/t/${tenant}/principals/${record.principal}` as string} size="sm"><Said>{record.principal}</Said></Anchor> : '–'}</dd>
          <dt>{s.key}</dt><dd className="mono"><Said>{record.key_id}</Said></dd>
          <dt>{s.agent}</dt><dd>{record.card ? <Anchor component={Link} to={`/t/${tenant}/agents/${record.card}` as string} size="sm"><Said>{record.card}</Said></Anchor> : '–'}</dd>
          <dt>{s.operation}</dt><dd>{record.operation ?? '–'}</dd>
          <dt>{s.dialect}</dt><dd>{record.dialect ?? '–'}</dd>
          <dt>{s.status}</dt><dd className="num">{record.status ?? '–'}</dd>
          <dt>{s.began}</dt><dd><When at={record.opened_at} /></dd>
          <dt>{s.ended}</dt><dd><When at={record.closed_at} /></dd>
          <dt>{s.from}</dt><dd className="mono"><Said>{detail.peer}</Said></dd>
          {record.task_id && <><dt>{s.task}</dt><dd className="mono"><Anchor component={Link} to={`/t/${tenant}/audit?task_id=${encodeURIComponent(record.task_id)}` as string} size="xs"><Said>{record.task_id}</Said></Anchor></dd></>}
          {detail.policy && <><dt>{s.policy}</dt><dd><Said>{detail.policy}</Said></dd></>}
          {detail.events !== undefined && detail.events > 0 && <><dt>{s.events}</dt><dd className="num">{detail.events}</dd></>}
          <dt>{s.bytes}</dt><dd className="num">{s.bytesInOut(detail.bytes_in ?? 0, detail.bytes_out ?? 0)}</dd>
          <dt>{s.correlationId}</dt><dd><Group gap={6}><span className="mono"><Said>{record.correlation_id}</Said></span><Copy text={record.correlation_id} /></Group></dd>
        </dl>
      </Panel>
    </div>
  )
}
