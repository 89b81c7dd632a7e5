// Which address shows which view. Views that few people open, or that are heavy, come when they are asked for.

import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Navigate, Outlet } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useQuery } from '@tanstack/react-query'
import { queries } from './api/queries'
import { Empty, Waiting, Wrong } from './parts/states'
import { Shell, useTenant } from './shell'
import { isPlatform, useMe } from './session'
import { s } from './strings'
import { Agents } from './views/agents'

const root = createRootRoute({ component: Shell, notFoundComponent: () => <Empty title={s.notFound}>{s.tryDifferently}</Empty> })

/** Filters and tabs in the address, as text; views read what they know. */
function search(given: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== '').map(([name, value]) => [name, String(value)]))
}

function Home(): ReactNode {
  const tenant = useTenant()
  const { data, isPending } = useQuery(queries.tenants())
  const me = useMe()
  if (isPending) return <div className="page"><Waiting /></div>
  if (data?.length === 0 && isPlatform(me)) return <Navigate to="/tenants" replace />
  if (!tenant) return <Empty title={s.noRole}>{s.noRoleText}</Empty>
  return <Navigate to={`/t/${tenant}/mission` as string} replace />
}

const home = createRoute({ getParentRoute: () => root, path: '/', component: Home })
const setup = createRoute({ getParentRoute: () => root, path: '/setup', component: () => <Navigate to="/" replace /> })
const inTenant = createRoute({ getParentRoute: () => root, path: '/t/$tenant', component: Outlet, validateSearch: search })
const tenantRoutes = [
  createRoute({ getParentRoute: () => inTenant, path: 'agents', component: Agents }),
  createRoute({ getParentRoute: () => inTenant, path: 'agents/$name', component: lazyRouteComponent(() => import('./views/agent'), 'Agent') }),
  createRoute({ getParentRoute: () => inTenant, path: 'mission', component: lazyRouteComponent(() => import('./views/mission'), 'Mission') }),
  createRoute({ getParentRoute: () => inTenant, path: 'exchanges/$id', component: lazyRouteComponent(() => import('./views/exchange'), 'Exchange') }),
  createRoute({ getParentRoute: () => inTenant, path: 'audit', component: lazyRouteComponent(() => import('./views/audit'), 'Audit') }),
  createRoute({ getParentRoute: () => inTenant, path: 'changes', component: lazyRouteComponent(() => import('./views/changes'), 'Changes') }),
  createRoute({ getParentRoute: () => inTenant, path: 'principals', component: lazyRouteComponent(() => import('./views/principals'), 'Principals') }),
  createRoute({ getParentRoute: () => inTenant, path: 'principals/$name', component: lazyRouteComponent(() => import('./views/principals'), 'PrincipalView') }),
  createRoute({ getParentRoute: () => inTenant, path: 'groups', component: lazyRouteComponent(() => import('./views/groups'), 'Groups') }),
  createRoute({ getParentRoute: () => inTenant, path: 'grants', component: lazyRouteComponent(() => import('./views/grants'), 'Grants') }),
  createRoute({ getParentRoute: () => inTenant, path: 'grants/$name', component: lazyRouteComponent(() => import('./views/grants'), 'GrantView') }),
  createRoute({ getParentRoute: () => inTenant, path: 'conditions', component: lazyRouteComponent(() => import('./views/conditions'), 'ConditionsView') }),
  createRoute({ getParentRoute: () => inTenant, path: 'explain', component: lazyRouteComponent(() => import('./views/explain'), 'Explain') }),
  createRoute({ getParentRoute: () => inTenant, path: 'limits', component: lazyRouteComponent(() => import('./views/limits'), 'Limits') }),
  createRoute({ getParentRoute: () => inTenant, path: 'issuers', component: lazyRouteComponent(() => import('./views/issuers'), 'Issuers') }),
  createRoute({ getParentRoute: () => inTenant, path: 'issuers/$name', component: lazyRouteComponent(() => import('./views/issuers'), 'IssuerView') }),
  createRoute({ getParentRoute: () => inTenant, path: 'policies', component: lazyRouteComponent(() => import('./views/policies'), 'Policies') }),
  createRoute({ getParentRoute: () => inTenant, path: 'policies/$name', component: lazyRouteComponent(() => import('./views/policies'), 'PolicyView') }),
  createRoute({ getParentRoute: () => inTenant, path: 'signing-keys', component: lazyRouteComponent(() => import('./views/signingkeys'), 'SigningKeys') }),
  createRoute({ getParentRoute: () => inTenant, path: 'register', component: lazyRouteComponent(() => import('./views/register'), 'Register') }),
]

const gateway = () => import('./views/gateway')
const gatewayRoutes = [
  createRoute({ getParentRoute: () => root, path: 'settings', component: lazyRouteComponent(gateway, 'Settings') }),
  createRoute({ getParentRoute: () => root, path: 'tenants', component: lazyRouteComponent(gateway, 'Tenants') }),
  createRoute({ getParentRoute: () => root, path: 'admins', component: lazyRouteComponent(gateway, 'Admins'), validateSearch: search }),
  createRoute({ getParentRoute: () => root, path: 'changes', component: lazyRouteComponent(() => import('./views/changes'), 'AllChanges'), validateSearch: search }),
]

export const router = createRouter({
  routeTree: root.addChildren([home, setup, inTenant.addChildren(tenantRoutes), ...gatewayRoutes]),
  defaultPreload: 'intent',
  defaultPendingComponent: () => <div className="page"><Waiting rows={8} /></div>,
  defaultErrorComponent: ({ error, reset }) => <div className="page"><Wrong error={error} retry={reset} /></div>,
  // Filters are plain text in the address: no JSON, no quotes.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (values) => {
    const text = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== undefined && value !== '').map(([name, value]) => [name, String(value)])).toString()
    return text ? `?${text}` : ''
  },
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
