// How quick the page is: a feed of two hundred exchanges a second, the first view.

import { ADMIN, another, step } from './kit.mjs'

export async function speedSteps() {
  await step('two hundred exchanges a second leave the page quick', async () => {
    const busy = await another()
    // The feed is played to the page, so that its own speed is what is measured.
    await busy.page.addInitScript(() => {
      class Feed extends EventTarget {
        constructor() {
          super()
          const say = (name, data) => this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data) }))
          setTimeout(() => this.onopen?.(new Event('open')), 10)
          let count = 0
          this.timer = setInterval(() => {
            for (let i = 0; i < 10; i++) say('exchange', { correlation_id: `c-${count++}`, tenant: 'default', opened_at: new Date().toISOString(), took_us: 1234, principal: 'bot', card: 'echo', operation: 'send', outcome: 'ok', events: 0, upstream_us: 1, guard_us: 1, findings: [], would_block: false })
          }, 50)
        }
        close() { clearInterval(this.timer) }
      }
      globalThis.EventSource = Feed
    })
    await busy.page.goto(`${ADMIN}/t/default/mission`)
    await busy.page.getByRole('region', { name: 'Live' }).getByRole('row').nth(100).waitFor()
    const frames = await busy.page.evaluate(() => new Promise((done) => {
      const times = []
      let last = performance.now()
      const tick = (now) => {
        times.push(now - last)
        last = now
        if (times.length < 180) requestAnimationFrame(tick)
        else done(times.sort((a, b) => a - b))
      }
      requestAnimationFrame(tick)
    }))
    console.log(`  frames: median ${frames[90].toFixed(1)} ms, p95 ${frames[171].toFixed(1)} ms, longest ${frames.at(-1).toFixed(0)} ms`)
    await busy.context.close()
  })

  await step('the first view comes fast', async () => {
    const cold = await another()
    const began = Date.now()
    await cold.page.goto(`${ADMIN}/t/default/agents`)
    await cold.page.getByRole('link', { name: 'echo' }).waitFor()
    console.log(`  agents shown after ${Date.now() - began} ms`)
    await cold.context.close()
  })
}
