// Documents with one text in every field, grown from schemas: so that no list of fields is kept by hand.

/** Finds `#/components/schemas/…`, and of several choices the one that is not null. */
function resolved(schema, all) {
  if (schema.$ref) return resolved(all[schema.$ref.split('/').at(-1)], all)
  const choices = schema.oneOf ?? schema.anyOf
  return choices ? resolved(choices.find((one) => one.type !== 'null') ?? choices[0], all) : schema
}

/**
 * A document with `text` in every field that takes one; also where a name is free to choose. Words of the API's own
 * (enumerations), numbers and switches are left out.
 */
export function grow(schema, text, all = {}) {
  const own = resolved(schema, all)
  const type = [own.type].flat().find((one) => one !== 'null')
  if (own.enum || own.const !== undefined) return undefined
  if (type === 'string') return own.format ? undefined : text
  if (type === 'array') {
    const item = grow(own.items, text, all)
    return item === undefined ? undefined : [item]
  }
  if (type !== 'object') return undefined
  const known = Object.entries(own.properties ?? {}).map(([name, one]) => [name, grow(one, text, all)])
  const free = own.values ?? (typeof own.additionalProperties === 'object' ? own.additionalProperties : undefined)
  // An object of which nothing is said may hold anything.
  const more = free ? [[text, grow(free, text, all)]] : known.length === 0 ? [[text, text]] : []
  const members = [...known, ...more].filter(([, value]) => value !== undefined)
  return members.length === 0 ? undefined : Object.fromEntries(members)
}

/** The paths of every text in a document, with `[]` for elements and `*` for names that hold the text themselves. */
export function fieldsOf(value, text, path = '') {
  if (typeof value === 'string') return value.includes(text) ? [path] : []
  if (Array.isArray(value)) return [...new Set(value.flatMap((one) => fieldsOf(one, text, `${path}[]`)))]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, one]) => [...(name === text ? [`${path}.(name)`] : []), ...fieldsOf(one, text, `${path}.${name === text ? '*' : name}`)])
}

/** Takes the place that a refusal names out of a document; says whether there was anything of it. */
export function drop(value, path, roots) {
  let names = path.split(/[./]/).filter(Boolean)
  while (roots.includes(names[0])) names = names.slice(1)
  let at = value
  for (const [depth, name] of names.entries()) {
    if (typeof at !== 'object' || at === null || !(name in at)) return false
    if (depth === names.length - 1 || typeof at[name] !== 'object') {
      if (Array.isArray(at)) at.splice(Number(name), 1)
      else delete at[name]
      return true
    }
    at = at[name]
  }
  return false
}

/** One document over another, member by member. */
export function over(below, above) {
  const isPlain = (one) => typeof one === 'object' && one !== null && !Array.isArray(one)
  if (!isPlain(below) || !isPlain(above)) return above === undefined ? below : above
  return Object.fromEntries([...new Set([...Object.keys(below), ...Object.keys(above)])].map((name) => [name, over(below[name], above[name])]))
}
