// Who else vouches for principals: the form of an issuer of tokens, or of client certificates.

import { Button, CloseButton, Group, Select, Stack, Switch, TagsInput, Text, Textarea, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState, type FormEvent, type ReactNode } from 'react'
import { Problem } from '../api/client'
import { queries } from '../api/queries'
import type { IssuerSpec } from '../api/shapes'
import { s } from '../strings'
import { pairsOf, specOf, type Pair } from './issuer'
import { Panel } from './pieces'
import { Wrong } from './states'

export type IssuerKind = 'oidc' | 'certificate'

export function IssuerForm({ tenant, spec, readOnly = false, action, named = false, save }: {
  tenant: string
  spec: IssuerSpec
  readOnly?: boolean
  action: string
  /** Whether it asks for a name: new ones. */
  named?: boolean
  /** Saves, or throws what the API says. */
  save: (spec: IssuerSpec, name: string) => Promise<void>
}): ReactNode {
  const principals = useQuery(queries.principals(tenant))
  const kind: IssuerKind = spec.kind ?? 'oidc'
  const [name, setName] = useState('')
  const [draft, setDraft] = useState<IssuerSpec>(spec)
  const [pairs, setPairs] = useState<Pair[]>(() => pairsOf(spec))
  const [error, setError] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  const problem = error instanceof Problem ? error : undefined
  const set = (part: Partial<IssuerSpec>) => setDraft({ ...draft, ...part })
  const wanted = specOf(draft, pairs)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    try {
      await save(wanted, name)
      setError(undefined)
    } catch (refused) {
      setError(refused)
    } finally {
      setBusy(false)
    }
  }
  const under = (member: string) => problem?.fields.find((field) => field.path === `spec.${member}` || field.path.startsWith(`spec.${member}.`))?.problem
  return (
    <form onSubmit={(event) => void submit(event)}>
      <fieldset disabled={readOnly} style={{ border: 0, padding: 0, margin: 0, minWidth: 0 }}>
        <Stack gap={16}>
          <Panel title={kind === 'oidc' ? s.issuerTokens : s.issuerCertificates}>
            <Stack gap={14} maw={640}>
              {named && <TextInput label={s.nameHere} description={s.nameRule} value={name} onChange={(event) => setName(event.currentTarget.value)} required withAsterisk={false} error={problem?.fields.find((field) => field.path === 'name')?.problem ?? (problem?.code === 'name_taken' ? problem.message : undefined)} />}
              {kind === 'oidc' ? (
                <>
                  <TextInput label={s.issuerUrl} description={s.issuerUrlHint} placeholder="https://login.example.com" value={draft.issuer ?? ''} onChange={(event) => set({ issuer: event.currentTarget.value })} error={under('issuer')} />
                  <TagsInput label={s.audiences} description={s.audiencesHint} value={draft.audiences ?? []} onChange={(audiences) => set({ audiences })} error={under('audiences')} acceptValueOnBlur />
                  <TextInput label={s.jwksUri} description={s.jwksUriHint} value={draft.jwks_uri ?? ''} onChange={(event) => set({ jwks_uri: event.currentTarget.value })} error={under('jwks_uri')} />
                  <Group grow align="start">
                    <TextInput label={s.subjectClaim} description={s.claimHint} placeholder="sub" value={draft.subject_claim ?? ''} onChange={(event) => set({ subject_claim: event.currentTarget.value })} error={under('subject_claim')} />
                    <TextInput label={s.groupsClaim} description={s.claimHint} placeholder="groups" value={draft.groups_claim ?? ''} onChange={(event) => set({ groups_claim: event.currentTarget.value })} error={under('groups_claim')} />
                  </Group>
                </>
              ) : (
                <Textarea label={s.authorities} description={s.authoritiesHint} autosize minRows={4} maxRows={12} placeholder="-----BEGIN CERTIFICATE-----" value={draft.authorities ?? ''} onChange={(event) => set({ authorities: event.currentTarget.value })} error={under('authorities')} styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }} />
              )}
              <Switch label={s.issuerActive} description={s.issuerActiveHint} checked={(draft.state ?? 'active') === 'active'} onChange={(event) => set({ state: event.currentTarget.checked ? 'active' : 'disabled' })} />
            </Stack>
          </Panel>
          <Panel title={s.whoIsWho}>
            <Stack gap={12} maw={760}>
              <Text size="sm" c="dimmed">{kind === 'oidc' ? s.subjectsText : s.certificateSubjectsText}</Text>
              {pairs.map((pair, at) => (
                <Group key={at} gap={8} align="end" wrap="nowrap" role="group" aria-label={`${s.subject} ${at + 1}`}>
                  <TextInput style={{ flex: 2 }} label={s.subject} value={pair.subject} placeholder={kind === 'oidc' ? 'user-4711' : 'spiffe://acme/bot'} onChange={(event) => setPairs(pairs.map((one, index) => (index === at ? { ...one, subject: event.currentTarget.value } : one)))} />
                  <Select style={{ flex: 1, minWidth: 110 }} label={s.principal} data={[...new Set([...(principals.data ?? []).map((one) => one.name), ...(pair.principal ? [pair.principal] : [])])]} value={pair.principal || null} onChange={(value) => setPairs(pairs.map((one, index) => (index === at ? { ...one, principal: value ?? '' } : one)))} searchable />
                  <CloseButton size="lg" aria-label={`${s.remove} ${pair.subject || at + 1}`} onClick={() => setPairs(pairs.filter((_, index) => index !== at))} />
                </Group>
              ))}
              {under('principals') && <Text size="sm" c="var(--bad)" role="alert">{under('principals')}</Text>}
              <Group><Button variant="default" onClick={() => setPairs([...pairs, { subject: '', principal: '' }])}>{s.addSubject}</Button></Group>
              {kind === 'oidc' && <Switch label={s.unlistedByName} description={s.unlistedByNameHint} checked={draft.unlisted === 'by_name'} onChange={(event) => set({ unlisted: event.currentTarget.checked ? 'by_name' : 'refuse' })} />}
            </Stack>
          </Panel>
          <Wrong error={error} />
          {!readOnly && <Group><Button type="submit" loading={busy}>{action}</Button></Group>}
        </Stack>
      </fieldset>
    </form>
  )
}
