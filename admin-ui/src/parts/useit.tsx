// How to call an agent, in four languages.

import { Stack, Tabs, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useMe } from '../session'
import { s } from '../strings'
import { Code } from './pieces'
import { snippet, type Language } from './snippets'

const LANGUAGES: [Language, string][] = [['curl', 'curl'], ['python', 'Python'], ['javascript', 'JavaScript'], ['chancery', 'chancery call']]

export function useBase(): string {
  return useMe()?.public_url ?? 'http://localhost:8100'
}

export function UseIt({ tenant, name, apiKey }: { tenant: string; name: string; apiKey?: string | undefined }): ReactNode {
  const base = useBase()
  return (
    <Stack gap={10}>
      <Text size="sm" c="dimmed">{apiKey ? s.useLead : s.snippetNeedsKey}</Text>
      <Tabs defaultValue="curl" keepMounted={false}>
        <Tabs.List mb={10}>{LANGUAGES.map(([id, label]) => <Tabs.Tab key={id} value={id}>{label}</Tabs.Tab>)}</Tabs.List>
        {LANGUAGES.map(([id, label]) => (
          <Tabs.Panel key={id} value={id}><Code text={snippet(id, { base, tenant, name, key: apiKey })} label={label} /></Tabs.Panel>
        ))}
      </Tabs>
    </Stack>
  )
}
