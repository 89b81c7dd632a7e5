// Which address shows which view. Views that few people open, or that are heavy, come when they are asked for.

import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Navigate, Outlet } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Empty, Waiting, Wrong } from './parts/states'
import { Shell, useTenant } from './shell'
import { s } from './strings'
import { Agents } from './views/agents'

const root = createRootRoute({ component: Shell, notFoundComponent: () => <Empty title={s.notFound}>{s.tryDifferently}</Empty> })

/** Filters and tabs in the address, as text; views read what they know. */
function search(given: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== '').map(([name, value]) => [name, String(value)]))
}

function Home(): ReactNode {
  const tenant = useTenant()
  if (!tenant) return <Empty title={s.noTenant}>{s.noTenantText}</Empty>
  return <Navigate to={`/t/${tenant}/agents` as string} replace />
}

const home = createRoute({ getParentRoute: () => root, path: '/', component: Home })
const setup = createRoute({ getParentRoute: () => root, path: '/setup', component: () => <Navigate to="/" replace /> })
const inTenant = createRoute({ getParentRoute: () => root, path: '/t/$tenant', component: Outlet, validateSearch: search })
const tenantRoutes = [
  createRoute({ getParentRoute: () => inTenant, path: 'agents', component: Agents }),
  createRoute({ getParentRoute: () => inTenant, path: 'agents/$name', component: lazyRouteComponent(() => import('./views/agent'), 'Agent') }),
  createRoute({ getParentRoute: () => inTenant, path: 'register', component: lazyRouteComponent(() => import('./views/register'), 'Register') }),
]

export const router = createRouter({
  routeTree: root.addChildren([home, setup, inTenant.addChildren(tenantRoutes)]),
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
