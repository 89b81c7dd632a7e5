//! One character → what a reader takes it for.

use unicode_normalization::char::decompose_compatible;

/// Characters that are not shown (Unicode `Default_Ignorable_Code_Point`), and controls but tab, line feed and carriage
/// return.
pub(crate) const fn is_ignorable(character: char) -> bool {
    matches!(character,
        '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Marks that are drawn on the letter before them.
pub(super) const fn is_mark(character: char) -> bool {
    matches!(character,
        '\u{300}'..='\u{34e}' | '\u{350}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20f0}' | '\u{fe20}'..='\u{fe2f}')
}

/// The ASCII character that a tag character stands for.
pub(super) fn tag(character: char) -> Option<char> {
    let code = u32::from(character).checked_sub(0xE0000)?;
    let shown = char::from_u32(code)?;
    (' '..='~').contains(&shown).then_some(shown)
}

/// Gives the characters that a reader takes `character` for.
pub(super) fn fold(character: char, mut give: impl FnMut(char)) {
    if character.is_whitespace() {
        return give(' ');
    }
    if let Some(shown) = look_alike(character) {
        return give(shown);
    }
    decompose_compatible(character, |piece| {
        if is_mark(piece) || is_ignorable(piece) {
            return;
        }
        let shown = if piece.is_whitespace() { ' ' } else { look_alike(piece).unwrap_or(piece) };
        give(shown);
    });
}

/// Letters of other scripts that look like Latin ones, digits of other scripts, and punctuation in other shapes.
fn look_alike(character: char) -> Option<char> {
    let code = u32::from(character);
    let letter = |first: u32, start: char| char::from_u32(u32::from(start).wrapping_add(code.wrapping_sub(first)));
    match code {
        0x2010..=0x2015 | 0x2043 | 0x2212 | 0xFE58 | 0xFE63 => return Some('-'),
        0x2018..=0x201B | 0x2032 | 0x02BC | 0x02B9 => return Some('\''),
        0x201C..=0x201F | 0x2033 | 0xAB | 0xBB => return Some('"'),
        0x3002 => return Some('.'),
        0x2044 | 0x2215 | 0x29F8 => return Some('/'),
        0x2236 | 0xA789 | 0x2D0 => return Some(':'),
        0x1F150..=0x1F169 => return letter(0x1F150, 'A'),
        0x1F170..=0x1F189 => return letter(0x1F170, 'A'),
        0x1F1E6..=0x1F1FF => return letter(0x1F1E6, 'A'),
        0x0660..=0x0669 => return letter(0x0660, '0'),
        0x06F0..=0x06F9 => return letter(0x06F0, '0'),
        0x0966..=0x096F => return letter(0x0966, '0'),
        0x09E6..=0x09EF => return letter(0x09E6, '0'),
        0x0E50..=0x0E59 => return letter(0x0E50, '0'),
        _ => {}
    }
    let at = LOOK_ALIKES.binary_search_by_key(&character, |(other, _)| *other).ok()?;
    LOOK_ALIKES.get(at).map(|(_, latin)| *latin)
}

/// In order of the first.
#[rustfmt::skip]
const LOOK_ALIKES: [(char, char); 175] = [
    ('ø', 'o'), ('đ', 'd'), ('ħ', 'h'), ('ı', 'i'), ('ł', 'l'), ('ŧ', 't'), ('ƒ', 'f'), ('ƙ', 'k'), ('ƚ', 'l'), ('ƞ', 'n'),
    ('ƥ', 'p'), ('ƫ', 't'), ('ƭ', 't'), ('ƴ', 'y'), ('ƶ', 'z'), ('ǃ', '!'), ('ȥ', 'z'), ('ɍ', 'r'), ('ɐ', 'a'), ('ɑ', 'a'),
    ('ɓ', 'b'), ('ɔ', 'c'), ('ɖ', 'd'), ('ɗ', 'd'), ('ɘ', 'e'), ('ə', 'e'), ('ɛ', 'e'), ('ɡ', 'g'), ('ɢ', 'g'), ('ɣ', 'y'),
    ('ɦ', 'h'), ('ɨ', 'i'), ('ɩ', 'i'), ('ɪ', 'i'), ('ɫ', 'l'), ('ɭ', 'l'), ('ɯ', 'w'), ('ɱ', 'm'), ('ɲ', 'n'), ('ɳ', 'n'),
    ('ɴ', 'n'), ('ɵ', 'o'), ('ɹ', 'r'), ('ʀ', 'r'), ('ʂ', 's'), ('ʇ', 't'), ('ʈ', 't'), ('ʉ', 'u'), ('ʋ', 'u'), ('ʌ', 'v'),
    ('ʍ', 'm'), ('ʎ', 'y'), ('ʏ', 'y'), ('ʐ', 'z'), ('ʙ', 'b'), ('ʜ', 'h'), ('ʟ', 'l'), ('ͺ', 'i'), ('Α', 'A'), ('Β', 'B'),
    ('Ε', 'E'), ('Ζ', 'Z'), ('Η', 'H'), ('Ι', 'I'), ('Κ', 'K'), ('Μ', 'M'), ('Ν', 'N'), ('Ο', 'O'), ('Ρ', 'P'), ('Τ', 'T'),
    ('Υ', 'Y'), ('Χ', 'X'), ('α', 'a'), ('γ', 'y'), ('ε', 'e'), ('η', 'n'), ('ι', 'i'), ('κ', 'k'), ('ν', 'v'), ('ο', 'o'),
    ('ρ', 'p'), ('τ', 't'), ('υ', 'u'), ('χ', 'x'), ('ϲ', 'c'), ('ϳ', 'j'), ('Ѕ', 'S'), ('І', 'I'), ('Ј', 'J'), ('А', 'A'),
    ('В', 'B'), ('Е', 'E'), ('З', '3'), ('К', 'K'), ('М', 'M'), ('Н', 'H'), ('О', 'O'), ('Р', 'P'), ('С', 'C'), ('Т', 'T'),
    ('У', 'Y'), ('Х', 'X'), ('а', 'a'), ('в', 'b'), ('г', 'r'), ('е', 'e'), ('к', 'k'), ('м', 'm'), ('н', 'h'), ('о', 'o'),
    ('п', 'n'), ('р', 'p'), ('с', 'c'), ('т', 't'), ('у', 'y'), ('х', 'x'), ('ѕ', 's'), ('і', 'i'), ('ј', 'j'), ('һ', 'h'),
    ('Ӏ', 'I'), ('ӏ', 'l'), ('ԁ', 'd'), ('ԍ', 'g'), ('ԛ', 'q'), ('Ԝ', 'W'), ('ԝ', 'w'), ('զ', 'q'), ('հ', 'h'), ('ո', 'n'),
    ('ս', 'u'), ('ց', 'g'), ('օ', 'o'), ('Ꭰ', 'D'), ('Ꭱ', 'R'), ('Ꭲ', 'T'), ('Ꭵ', 'i'), ('Ꭺ', 'A'), ('Ꭻ', 'J'), ('Ꭼ', 'E'),
    ('Ꮃ', 'W'), ('Ꮇ', 'M'), ('Ꮋ', 'H'), ('Ꮐ', 'G'), ('Ꮒ', 'h'), ('Ꮓ', 'Z'), ('Ꮩ', 'V'), ('Ꮪ', 'S'), ('Ꮮ', 'L'), ('Ꮯ', 'C'),
    ('Ꮲ', 'P'), ('Ꮶ', 'K'), ('ᴀ', 'a'), ('ᴄ', 'c'), ('ᴅ', 'd'), ('ᴇ', 'e'), ('ᴊ', 'j'), ('ᴋ', 'k'), ('ᴍ', 'm'), ('ᴏ', 'o'),
    ('ᴘ', 'p'), ('ᴛ', 't'), ('ᴜ', 'u'), ('ᴠ', 'v'), ('ᴡ', 'w'), ('ᴢ', 'z'), ('ꜰ', 'f'), ('ꜱ', 's'), ('ꞌ', '\''), ('ꭺ', 'a'),
    ('ꮓ', 'z'), ('ꮩ', 'v'), ('ꮪ', 's'), ('ꮯ', 'c'), ('ﬡ', 'n'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        for pair in LOOK_ALIKES.windows(2) {
            assert!(pair[0].0 < pair[1].0, "{:?}", pair);
        }
    }

    #[test]
    fn what_looks_alike_becomes_alike() {
        for (source, shown) in [
            ('Ａ', "A"),
            ('ﬁ', "fi"),
            ('é', "e"),
            ('𝐢', "i"),
            ('о', "o"),
            ('\u{a0}', " "),
            ('٣', "3"),
            ('ж', "ж"),
            ('🄰', "A"),
        ] {
            let mut folded = String::new();
            fold(source, |piece| folded.push(piece));
            assert_eq!(folded, shown, "{source}");
        }
    }
}
