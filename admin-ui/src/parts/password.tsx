// Changing one's own password.

import { Button, Group, Modal, PasswordInput, Stack } from '@mantine/core'
import { useState, type FormEvent, type ReactNode } from 'react'
import { api, ok, Problem } from '../api/client'
import { s } from '../strings'
import { Wrong } from './states'
import { useTell } from './toast'

export function OwnPassword({ opened, close }: { opened: boolean; close: () => void }): ReactNode {
  const [current, setCurrent] = useState('')
  const [password, setPassword] = useState('')
  const [error, setError] = useState<unknown>()
  const tell = useTell()
  const problem = error instanceof Problem ? error : undefined
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    try {
      await ok(api.PUT('/api/v1/me/password', { body: { current, password } }))
      tell(s.passwordChanged)
      setCurrent('')
      setPassword('')
      setError(undefined)
      close()
    } catch (refused) {
      setError(refused)
    }
  }
  return (
    <Modal opened={opened} onClose={close} title={s.changePassword}>
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap={14}>
          <PasswordInput label={s.currentPassword} autoComplete="current-password" required withAsterisk={false} value={current} onChange={(event) => setCurrent(event.currentTarget.value)} error={problem?.of('current')} data-autofocus />
          <PasswordInput label={s.newPassword} description={s.passwordRule} autoComplete="new-password" required withAsterisk={false} value={password} onChange={(event) => setPassword(event.currentTarget.value)} error={problem?.of('password')} />
          {problem && problem.fields.length === 0 && <Wrong error={problem} />}
          <Group justify="flex-end"><Button type="submit">{s.changePassword}</Button></Group>
        </Stack>
      </form>
    </Modal>
  )
}
