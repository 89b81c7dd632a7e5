// Sign in, and the very first account.

import { Alert, Button, Divider, Paper, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState, type FormEvent, type ReactNode } from 'react'
import { api, ok, Problem } from '../api/client'
import { Waiting, Wrong } from '../parts/states'
import { s } from '../strings'

function Gate({ title, lead, children }: { title: string; lead?: string; children: ReactNode }): ReactNode {
  useEffect(() => {
    document.title = `${title} · Chancery`
  }, [title])
  return (
    <main id="content" style={{ minHeight: '100vh', display: 'grid', placeItems: 'center', padding: 16 }}>
      <Paper className="panel" p={28} w="100%" maw={400}>
        <Stack gap={4} mb={20}>
          <img src="/favicon.svg" alt="" width={34} height={34} />
          <Title order={1} mt={8}>{title}</Title>
          {lead && <Text size="sm" c="dimmed">{lead}</Text>}
        </Stack>
        {children}
      </Paper>
    </main>
  )
}

/** The view that was asked for, to come back to. */
function here(): string {
  return `${window.location.pathname}${window.location.search}`
}

export function SignIn(): ReactNode {
  const client = useQueryClient()
  const setup = useQuery({ queryKey: ['setup'], queryFn: () => ok(api.GET('/api/v1/setup')), retry: false })
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const [stopped] = useState(() => new URLSearchParams(window.location.search).get('sso'))
  useEffect(() => {
    if (stopped !== null) window.history.replaceState(null, '', window.location.pathname)
  }, [stopped])
  const passwords = setup.data?.passwords !== false
  const sso = setup.data?.sso
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      client.setQueryData(['me'], await ok(api.POST('/api/v1/session', { body: { name, password } })))
    } catch (problem) {
      setError(problem)
      setPassword('')
    } finally {
      setBusy(false)
    }
  }
  return (
    <Gate title={s.signIn} lead={s.signInLead}>
      {setup.data?.needed && <Alert variant="light" mb={16}><Text size="sm">{s.setupNeeded}</Text></Alert>}
      {stopped !== null && <Text size="sm" c="var(--bad)" role="alert" mb={16}>{s.ssoStops[stopped] ?? s.ssoStops.unproven}</Text>}
      {sso && (
        <Stack gap={14} mb={passwords ? 18 : 0}>
          <Button component="a" href={`${sso.start}?to=${encodeURIComponent(here())}`} variant="default" fullWidth>{s.ssoWith} {sso.label}</Button>
          {passwords ? <Divider label={s.ssoOr} labelPosition="center" styles={{ label: { color: 'inherit' } }} /> : <Text size="sm">{s.ssoOnly}</Text>}
        </Stack>
      )}
      {passwords && <form onSubmit={(event) => void submit(event)}>
        <Stack gap={14}>
          <TextInput label={s.name} value={name} onChange={(event) => setName(event.currentTarget.value)} autoComplete="username" autoFocus required withAsterisk={false} />
          <PasswordInput label={s.password} value={password} onChange={(event) => setPassword(event.currentTarget.value)} autoComplete="current-password" required withAsterisk={false} />
          {error instanceof Problem && error.status > 0 && error.status < 500 ? (
            <Text size="sm" c="var(--bad)" role="alert">{error.message}</Text>
          ) : (
            <Wrong error={error} />
          )}
          <Button type="submit" loading={busy} fullWidth>{s.signIn}</Button>
        </Stack>
      </form>}
    </Gate>
  )
}

export function Setup(): ReactNode {
  const client = useQueryClient()
  const setup = useQuery({ queryKey: ['setup'], queryFn: () => ok(api.GET('/api/v1/setup')), retry: false })
  const [token] = useState(() => window.location.hash.slice(1))
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const [again, setAgain] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    // The word is good once and belongs in no history.
    if (window.location.hash) window.history.replaceState(null, '', window.location.pathname)
  }, [])
  const problem = error instanceof Problem ? error : undefined
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (password !== again) return
    setBusy(true)
    setError(undefined)
    try {
      const me = await ok(api.POST('/api/v1/setup', { body: { token, name, password } }))
      window.history.replaceState(null, '', '/')
      client.setQueryData(['me'], me)
    } catch (refused) {
      setError(refused)
    } finally {
      setBusy(false)
    }
  }
  if (setup.isPending) return <Gate title={s.setupTitle}><Waiting rows={3} /></Gate>
  if (setup.data && !setup.data.needed) {
    return <Gate title={s.setupTitle} lead={s.setupDone}><Button component="a" href="/" fullWidth>{s.signIn}</Button></Gate>
  }
  if (!token) return <Gate title={s.setupTitle} lead={s.setupNoLink}><Wrong error={setup.error} /></Gate>
  return (
    <Gate title={s.setupTitle} lead={s.setupLead}>
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap={14}>
          <TextInput label={s.name} value={name} onChange={(event) => setName(event.currentTarget.value)} autoComplete="username" autoFocus required withAsterisk={false} error={problem?.of('name')} />
          <PasswordInput label={s.password} description={s.passwordRule} value={password} onChange={(event) => setPassword(event.currentTarget.value)} autoComplete="new-password" required withAsterisk={false} error={problem?.of('password')} />
          <PasswordInput label={s.passwordAgain} value={again} onChange={(event) => setAgain(event.currentTarget.value)} autoComplete="new-password" required withAsterisk={false} error={again !== '' && again !== password ? s.passwordsDiffer : undefined} />
          {problem?.of('token') && <Text size="sm" c="var(--bad)" role="alert">{s.setupLink} {problem.of('token')}</Text>}
          {problem && problem.fields.length === 0 && <Wrong error={problem} />}
          <Button type="submit" loading={busy} disabled={password !== again} fullWidth>{s.createAccount}</Button>
        </Stack>
      </form>
    </Gate>
  )
}
