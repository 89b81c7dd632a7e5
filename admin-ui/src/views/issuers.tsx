// Who vouches for principals besides their keys: issuers of tokens and of client certificates, and the gateway's own tokens.

import { Anchor, Button, Group, Menu, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { api, ok, Problem } from '../api/client'
import { queries, touched } from '../api/queries'
import type { Issuer, IssuerSpec } from '../api/shapes'
import { pairsOf } from '../parts/issuer'
import { IssuerForm, type IssuerKind } from '../parts/issuerform'
import { Mark, State } from '../parts/marks'
import { Code, Confirm, Copy, Page, Panel } from '../parts/pieces'
import { Empty, Waiting, Wrong } from '../parts/states'
import { DataTable, type Columns } from '../parts/table'
import { Said } from '../parts/text'
import { When } from '../parts/time'
import { useTell } from '../parts/toast'
import { useBase } from '../parts/useit'
import { useMay } from '../session'
import { s } from '../strings'

/** Beyond this many, keys are told on each one's own page. */
const KEYS_SHOWN = 25

export function Issuers(): ReactNode {
  const { tenant } = useParams({ strict: false }) as { tenant: string }
  const { make } = useSearch({ strict: false }) as { make?: string }
  return make === 'oidc' || make === 'certificate' ? <NewIssuer key={make} tenant={tenant} kind={make} /> : <List tenant={tenant} />
}

function List({ tenant }: { tenant: string }): ReactNode {
  const issuers = useQuery(queries.issuers(tenant))
  const mayWrite = useMay(tenant, 'administer')
  const all = issuers.data ?? []
  const columns: Columns<Issuer> = [
    { id: 'name', header: s.issuer, accessorFn: (one) => one.name, cell: ({ row }) => <Anchor component={Link} to={`/t/${tenant}/issuers/${row.original.name}` as string} size="sm" fw={550}>{row.original.name}</Anchor> },
    { id: 'kind', header: s.kind, accessorFn: (one) => kindWord(one.spec.kind) },
    { id: 'issuer', header: s.vouchesBy, accessorFn: (one) => one.spec.issuer ?? (one.spec.authorities ? s.ownAuthorities : s.listenerAuthorities), cell: ({ getValue }) => <span className="mono"><Said>{String(getValue())}</Said></span> },
    { id: 'who', header: s.subjects, accessorFn: (one) => pairsOf(one.spec).length, cell: ({ row: { original: one } }) => <><span className="num">{pairsOf(one.spec).length}</span>{one.spec.unlisted === 'by_name' && <> <span className="muted">{s.andByName}</span></>}</> },
    { id: 'state', header: s.state, accessorFn: (one) => one.spec.state ?? 'active', cell: ({ getValue }) => <State of={String(getValue())} /> },
    ...(all.length <= KEYS_SHOWN ? [{ id: 'keys', header: s.itsKeys, cell: ({ row }: { row: { original: Issuer } }) => <KeyMark tenant={tenant} issuer={row.original} /> }] : []),
  ]
  return (
    <Page title={s.navIssuers} lead={s.issuersLead} actions={mayWrite && <MakeMenu tenant={tenant} />}>
      <Wrong error={issuers.error} retry={() => void issuers.refetch()} />
      <Stack gap={16}>
        <Panel flush>
          {issuers.isPending ? <Waiting rows={4} /> : issuers.error ? null : all.length === 0 ? <Empty title={s.noIssuers} action={mayWrite && <MakeMenu tenant={tenant} />}>{s.noIssuersText}</Empty>
            : <DataTable rows={all} columns={columns} label={s.navIssuers} searchable />}
        </Panel>
        <OwnTokens tenant={tenant} />
      </Stack>
    </Page>
  )
}

function kindWord(kind: IssuerKind | null | undefined): string {
  return kind === 'certificate' ? s.issuerCertificates : s.issuerTokens
}

function MakeMenu({ tenant }: { tenant: string }): ReactNode {
  return (
    <Menu position="bottom-end" transitionProps={{ duration: 0 }}>
      <Menu.Target><Button>{s.newIssuer}</Button></Menu.Target>
      <Menu.Dropdown>
        <Menu.Item component={Link} to={`/t/${tenant}/issuers` as string} search={{ make: 'oidc' } as never}>{s.issuerTokens}</Menu.Item>
        <Menu.Item component={Link} to={`/t/${tenant}/issuers` as string} search={{ make: 'certificate' } as never}>{s.issuerCertificates}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

/** The gateway is an issuer too: callers exchange their key for a short-lived token. */
function OwnTokens({ tenant }: { tenant: string }): ReactNode {
  const base = useBase()
  return (
    <Panel title={s.ownTokens} actions={<Anchor component={Link} to={`/t/${tenant}/signing-keys` as string} size="sm">{s.navKeys}</Anchor>}>
      <Stack gap={12}>
        <Text size="sm" c="dimmed">{s.ownTokensText}</Text>
        <dl className="facts">
          <dt>{s.tokenEndpoint}</dt><dd className="mono">{`${base}/oauth/token`} <Copy text={`${base}/oauth/token`} /></dd>
          <dt>{s.issuerUrl}</dt><dd className="mono">{`${base}/oauth/${tenant}`}</dd>
          <dt>{s.audiences}</dt><dd className="mono">{`${base}/a2a/${tenant}`}</dd>
        </dl>
        <Code label={s.tokenEndpoint} text={`curl -s ${base}/oauth/token -H "Authorization: Bearer $API_KEY" -d grant_type=client_credentials`} />
      </Stack>
    </Panel>
  )
}

function KeyMark({ tenant, issuer }: { tenant: string; issuer: Issuer }): ReactNode {
  const isTokens = (issuer.spec.kind ?? 'oidc') === 'oidc'
  const keys = useQuery({ ...queries.issuerKeys(tenant, issuer.name), enabled: isTokens })
  if (!isTokens) return <span className="muted">{s.keysOfNoTokens}</span>
  if (keys.error) return <span className="muted">{s.unknownNow}</span>
  if (!keys.data) return <span className="muted">…</span>
  if (keys.data.problem) return <Mark tone="bad">{s.keysFailed}</Mark>
  if (!keys.data.fetched_at) return <Mark tone="calm">{s.keysNotYet}</Mark>
  return <Mark tone="good">{s.keysCount(keys.data.keys.length)}</Mark>
}

function NewIssuer({ tenant, kind }: { tenant: string; kind: IssuerKind }): ReactNode {
  const client = useQueryClient()
  const navigate = useNavigate()
  const tell = useTell()
  const save = async (spec: IssuerSpec, name: string) => {
    await ok(api.POST('/api/v1/tenants/{tenant}/issuers', { params: { path: { tenant } }, body: { name, spec } as never }))
    await touched(client, 'issuers')
    tell(s.issuerMade)
    void navigate({ to: `/t/${tenant}/issuers/${name}` })
  }
  return (
    <Page title={s.newIssuer} lead={kind === 'oidc' ? s.newIssuerLead : s.newCertificateLead} crumbs={<><Anchor component={Link} to={`/t/${tenant}/issuers` as string} size="sm">{s.navIssuers}</Anchor><span>/</span><span>{s.newIssuer}</span></>}>
      <IssuerForm tenant={tenant} spec={kind === 'oidc' ? {} : { kind }} action={s.create} named save={save} />
    </Page>
  )
}

export function IssuerView(): ReactNode {
  const { tenant, name } = useParams({ strict: false }) as { tenant: string; name: string }
  const issuer = useQuery(queries.issuer(tenant, name))
  return (
    <>
      {!issuer.data && <Page title={name} crumbs={<Crumbs tenant={tenant} name={name} />}><Wrong error={issuer.error} retry={() => void issuer.refetch()} />{issuer.isPending && <Panel flush><Waiting rows={8} /></Panel>}</Page>}
      {issuer.data && <IssuerPage key={issuer.data.revision} issuer={issuer.data} tenant={tenant} />}
    </>
  )
}

function Crumbs({ tenant, name }: { tenant: string; name: string }): ReactNode {
  return <><Anchor component={Link} to={`/t/${tenant}/issuers` as string} size="sm">{s.navIssuers}</Anchor><span>/</span><span>{name}</span></>
}

function IssuerPage({ issuer, tenant }: { issuer: Issuer; tenant: string }): ReactNode {
  const client = useQueryClient()
  const navigate = useNavigate()
  const tell = useTell()
  const mayWrite = useMay(tenant, 'administer')
  const [disabling, disable] = useDisclosure()
  const [removing, remove] = useDisclosure()
  const name = issuer.name
  const active = (issuer.spec.state ?? 'active') === 'active'
  const fail = (error: unknown) => tell(error instanceof Problem ? error.message : s.pageFailed, { bad: true })
  const put = async (spec: IssuerSpec, revision: number) => {
    await ok(api.PUT('/api/v1/tenants/{tenant}/issuers/{name}', { params: { path: { tenant, name }, header: { 'If-Match': revision } }, body: { spec } as never }))
    await touched(client, 'issuers', 'issuer-keys')
  }
  const setState = async (state: 'active' | 'disabled') => {
    const now = await ok(api.GET('/api/v1/tenants/{tenant}/issuers/{name}', { params: { path: { tenant, name } } })) as unknown as Issuer
    await put({ ...now.spec, state }, now.revision)
  }
  return (
    <Page
      title={name} crumbs={<Crumbs tenant={tenant} name={name} />}
      actions={mayWrite && (
        <>
          {active ? <Button variant="default" onClick={disable.open}>{s.disable}</Button> : <Button onClick={() => void setState('active').then(() => tell(s.issuerEnabled), fail)}>{s.enable}</Button>}
          <Button variant="default" onClick={remove.open}>{s.remove}</Button>
        </>
      )}
    >
      <Group gap={10} mb={14}><State of={issuer.spec.state ?? 'active'} /><Mark tone="calm" plain>{kindWord(issuer.spec.kind)}</Mark><Text size="sm" c="dimmed">{s.changed} <When at={issuer.updated_at} style="ago" /></Text></Group>
      <Stack gap={16}>
        {(issuer.spec.kind ?? 'oidc') === 'oidc' && <Keys tenant={tenant} name={name} active={active} />}
        <IssuerForm tenant={tenant} spec={issuer.spec} readOnly={!mayWrite} action={s.save} save={async (spec) => { await put(spec, issuer.revision); tell(s.issuerSaved) }} />
      </Stack>
      <Confirm
        open={disabling} close={disable.close} title={`${s.disable} ${name}?`} consequence={s.disableIssuerText} action={s.disable}
        confirm={async () => {
          await setState('disabled').catch((error: unknown) => { fail(error); throw error })
          tell(s.issuerDisabled, { undo: () => void setState('active').catch(fail) })
        }}
      />
      <Confirm
        open={removing} close={remove.close} title={`${s.remove} ${name}?`} consequence={s.removeIssuerText} action={s.remove} word={name}
        confirm={async () => {
          await ok(api.DELETE('/api/v1/tenants/{tenant}/issuers/{name}', { params: { path: { tenant, name }, header: { 'If-Match': issuer.revision } } })).catch((error: unknown) => { fail(error); throw error })
          await touched(client, 'issuers')
          void navigate({ to: `/t/${tenant}/issuers` })
        }}
      />
    </Page>
  )
}

/** The key set as the gateway that was asked holds it. */
function Keys({ tenant, name, active }: { tenant: string; name: string; active: boolean }): ReactNode {
  const keys = useQuery(queries.issuerKeys(tenant, name))
  return (
    <Panel title={s.itsKeys}>
      <Wrong error={keys.error} retry={() => void keys.refetch()} />
      {keys.isPending ? <Waiting rows={2} /> : keys.data && (
        <Stack gap={10}>
          {keys.data.problem && <div role="alert"><Mark tone="bad">{s.keysFailed}</Mark> <Text size="sm" mt={6}><Said>{keys.data.problem}</Said></Text><Text size="sm" c="dimmed">{keys.data.fetched_at ? s.keysFailedOld : s.keysFailedNone}</Text></div>}
          {!keys.data.problem && !keys.data.fetched_at && <Text size="sm" c="dimmed">{active ? s.keysNotYetText : s.keysDisabledText}</Text>}
          {keys.data.fetched_at && <Text size="sm" c="dimmed">{s.keysFetched} <When at={keys.data.fetched_at} style="ago" />{'. '}{s.keysBelieved}</Text>}
          {keys.data.keys.length > 0 && (
            <div className="scroll-x" tabIndex={0} role="region" aria-label={s.tableOf(s.itsKeys)}>
              <table className="grid">
                <thead><tr><th scope="col">{s.keyId}</th><th scope="col">{s.algorithm}</th></tr></thead>
                <tbody>{keys.data.keys.map((key) => <tr key={key.kid}><td className="mono"><Said>{key.kid}</Said></td><td>{key.alg}</td></tr>)}</tbody>
              </table>
            </div>
          )}
        </Stack>
      )}
    </Panel>
  )
}
