// The frame around every view: navigation, tenant, search, theme, account.

import { ActionIcon, AppShell, Burger, Button, Group, Kbd, Menu, NavLink, Select, Text, useMantineColorScheme } from '@mantine/core'
import { useDisclosure, useHotkeys } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useNavigate, useParams, useRouterState } from '@tanstack/react-router'
import { useEffect, useState, type ReactNode } from 'react'
import { api, ok, trust } from './api/client'
import { queries } from './api/queries'
import { Palette } from './parts/palette'
import { OwnPassword } from './parts/password'
import { Standing } from './parts/standing'
import { isManager, isPlatform, useMe } from './session'
import { s } from './strings'

const REMEMBERED = 'chancery:tenant'

/** The tenant of the address, else the one that was looked at last, else the first. */
export function useTenant(): string | undefined {
  const { tenant } = useParams({ strict: false })
  const { data } = useQuery(queries.tenants())
  useEffect(() => {
    if (tenant) localStorage.setItem(REMEMBERED, tenant)
  }, [tenant])
  if (tenant) return tenant
  const last = localStorage.getItem(REMEMBERED)
  return data?.some((one) => one.name === last) ? (last ?? undefined) : data?.find((one) => one.name === 'default')?.name ?? data?.[0]?.name
}

export const TENANT_VIEWS = [
  { path: 'mission', label: s.navMission, group: s.groupTraffic, key: 'm' },
  { path: 'audit', label: s.navAudit, group: s.groupTraffic, key: 'u' },
  { path: 'changes', label: s.navChanges, group: s.groupTraffic, key: 'h' },
  { path: 'agents', label: s.navAgents, group: s.groupTenant, key: 'a' },
  { path: 'policies', label: s.navPolicies, group: s.groupTenant, key: 'g' },
  { path: 'signing-keys', label: s.navKeys, group: s.groupTenant, key: 'k' },
  { path: 'principals', label: s.navPrincipals, group: s.groupAccess, key: 'p' },
  { path: 'groups', label: s.navGroups, group: s.groupAccess, key: 'o' },
  { path: 'grants', label: s.navGrants, group: s.groupAccess, key: 'r' },
  { path: 'conditions', label: s.navConditions, group: s.groupAccess, key: 'c' },
  { path: 'explain', label: s.navExplain, group: s.groupAccess, key: 'e' },
  { path: 'limits', label: s.navLimits, group: s.groupAccess, key: 'l' },
  { path: 'issuers', label: s.navIssuers, group: s.groupAccess, key: 'i' },
] as const

export const GATEWAY_VIEWS = [
  { path: '/settings', label: s.navSettings, key: 's', needs: 'anybody' },
  { path: '/tenants', label: s.navTenants, key: 't', needs: 'anybody' },
  { path: '/admins', label: s.navAdmins, key: 'd', needs: 'manager' },
  { path: '/changes', label: s.navAllChanges, key: 'w', needs: 'platform' },
] as const

export function Shell(): ReactNode {
  const [opened, { toggle, close }] = useDisclosure()
  const [palette, { open: openPalette, close: closePalette }] = useDisclosure()
  const tenant = useTenant()
  const me = useMe()
  const navigate = useNavigate()
  const path = useRouterState({ select: (state) => state.location.pathname })
  useGoKeys(tenant)
  // Ctrl-K also from within a field or an editor; a slash is a letter there.
  useHotkeys([['mod+K', openPalette]], [], true)
  useHotkeys([['/', openPalette]])
  useEffect(close, [path, close])
  const { data: tenants } = useQuery(queries.tenants())
  const moveTo = (name: string | null) => {
    if (!name) return
    const view = /^\/t\/[^/]+\/([^/]+)/.exec(path)?.[1] ?? 'mission'
    void navigate({ to: `/t/${name}/${view === 'exchanges' ? 'mission' : view}` })
  }
  return (
    <AppShell header={{ height: 52 }} navbar={{ width: 212, breakpoint: 'sm', collapsed: { mobile: !opened } }} padding={0}>
      <a href="#content" className="skip">{s.skip}</a>
      <AppShell.Header style={{ background: 'var(--panel)', borderColor: 'var(--line)' }}>
        <Group h="100%" px={16} justify="space-between" wrap="nowrap">
          <Group gap={10} wrap="nowrap">
            <Burger opened={opened} onClick={toggle} hiddenFrom="sm" size="sm" aria-label={s.menu} />
            <Link to="/" aria-label={s.product} style={{ display: 'flex', alignItems: 'center', gap: 9, textDecoration: 'none', color: 'inherit' }}>
              <img src="/favicon.svg" alt="" width={24} height={24} />
              <Text fw={650} size="md" visibleFrom="xs">{s.product}</Text>
            </Link>
            {tenants && tenants.length > 0 && tenant && (
              <Select
                aria-label={s.tenant} data={tenants.map((one) => one.name)} value={tenant} onChange={moveTo} size="xs" w={150}
                searchable={tenants.length > 8} allowDeselect={false}
              />
            )}
          </Group>
          <Group gap={8} wrap="nowrap">
            <Button variant="default" size="xs" onClick={openPalette} rightSection={<Kbd size="xs">Ctrl K</Kbd>} visibleFrom="xs">{s.search}</Button>
            <ThemeMenu />
            <AccountMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p={10} style={{ background: 'var(--panel)', borderColor: 'var(--line)', overflowY: 'auto' }}>
        <nav aria-label={s.mainMenu}>
          {tenant && [s.groupTraffic, s.groupTenant, s.groupAccess].map((group) => (
            <div key={group}>
              <Text size="xs" c="dimmed" px={10} pt={10} pb={4}>{group}</Text>
              {TENANT_VIEWS.filter((view) => view.group === group).map((view) => (
                <NavLink
                  key={view.path} component={Link} to={`/t/${tenant}/${view.path}` as string} label={view.label}
                  active={path.startsWith(`/t/${tenant}/${view.path}`) || (view.path === 'agents' && path.endsWith('/register'))}
                  aria-current={path.startsWith(`/t/${tenant}/${view.path}`) ? 'page' : undefined}
                  style={{ borderRadius: 6 }} py={6}
                />
              ))}
            </div>
          ))}
          <Text size="xs" c="dimmed" px={10} pt={10} pb={4}>{s.groupGateway}</Text>
          {GATEWAY_VIEWS.filter((view) => (view.needs === 'platform' ? isPlatform(me) : view.needs === 'anybody' || isManager(me))).map((view) => (
            <NavLink
              key={view.path} component={Link} to={view.path as string} label={view.label} active={path.startsWith(view.path)}
              aria-current={path.startsWith(view.path) ? 'page' : undefined} style={{ borderRadius: 6 }} py={6}
            />
          ))}
        </nav>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1} style={{ outline: 'none' }}>
        <Standing />
        <Outlet />
      </AppShell.Main>
      <Palette opened={palette} close={closePalette} tenant={tenant} platform={isPlatform(me)} />
    </AppShell>
  )
}

/** `g` and then a letter goes to a view. */
function useGoKeys(tenant: string | undefined): void {
  const navigate = useNavigate()
  const [armed, setArmed] = useState(false)
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable) return
      if (!armed) {
        if (event.key === 'g') {
          setArmed(true)
          setTimeout(() => setArmed(false), 1500)
        }
        return
      }
      setArmed(false)
      const view = TENANT_VIEWS.find((one) => one.key === event.key)
      const other = GATEWAY_VIEWS.find((one) => one.key === event.key)
      if (view && tenant) void navigate({ to: `/t/${tenant}/${view.path}` })
      else if (other) void navigate({ to: other.path as string })
    }
    window.addEventListener('keydown', listen)
    return () => window.removeEventListener('keydown', listen)
  }, [armed, tenant, navigate])
}

function ThemeMenu(): ReactNode {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const choices = [['auto', s.themeAuto], ['light', s.themeLight], ['dark', s.themeDark]] as const
  return (
    <Menu position="bottom-end" transitionProps={{ duration: 0 }}>
      <Menu.Target>
        <ActionIcon variant="default" size={30} aria-label={s.theme}>
          <svg width="15" height="15" viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" strokeWidth="1.4" /><path d="M8 1.8a6.2 6.2 0 0 1 0 12.4z" fill="currentColor" /></svg>
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {choices.map(([value, label]) => (
          <Menu.Item key={value} onClick={() => setColorScheme(value)} fw={colorScheme === value ? 600 : 400}>{label}</Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}

function AccountMenu(): ReactNode {
  const me = useMe()
  const client = useQueryClient()
  const [password, { open, close }] = useDisclosure()
  const signOut = async () => {
    await ok(api.DELETE('/api/v1/session')).catch(() => undefined)
    trust(null)
    client.setQueryData(['me'], null)
    // What this account has read is not left for the next one.
    client.removeQueries({ predicate: (query) => query.queryKey[0] !== 'me' })
  }
  return (
    <>
      <Menu position="bottom-end" transitionProps={{ duration: 0 }}>
        <Menu.Target><Button variant="default" size="xs" aria-label={`${s.account}: ${me?.name ?? ''}`}>{me?.name}</Button></Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>{(me?.roles ?? []).map((one) => `${one.role.replace('_', ' ')} · ${one.tenant}`).join(', ')}</Menu.Label>
          {me?.source !== 'sso' && <Menu.Item onClick={open}>{s.changePassword}</Menu.Item>}
          <Menu.Item onClick={() => void signOut()}>{s.signOut}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <OwnPassword opened={password} close={close} />
    </>
  )
}
