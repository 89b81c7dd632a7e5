//! RFC 8785: the examples of §3.2, the numbers of Appendix B, and what has no canonical form.

use super::*;
use crate::reader::{Limits, read};

fn canonical_text(source: &str) -> String {
    let json = read(source.as_bytes(), &Limits::default()).unwrap();
    String::from_utf8(canonical(&json).unwrap()).unwrap()
}

/// RFC 8785 Appendix B: the bits of a double and how it prints.
const NUMBERS: &[(u64, &str)] = &[
    (0x0000_0000_0000_0000, "0"),
    (0x8000_0000_0000_0000, "0"),
    (0x0000_0000_0000_0001, "5e-324"),
    (0x8000_0000_0000_0001, "-5e-324"),
    (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
    (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
    (0x4340_0000_0000_0000, "9007199254740992"),
    (0xc340_0000_0000_0000, "-9007199254740992"),
    (0x4430_0000_0000_0000, "295147905179352830000"),
    (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
    (0x44b5_2d02_c7e1_4af6, "1e+23"),
    (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
    (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
    (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
    (0x444b_1ae4_d6e2_ef50, "1e+21"),
    (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
    (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
    (0x41b3_de43_5555_5553, "333333333.3333332"),
    (0x41b3_de43_5555_5554, "333333333.33333325"),
    (0x41b3_de43_5555_5555, "333333333.3333333"),
    (0x41b3_de43_5555_5556, "333333333.3333334"),
    (0x41b3_de43_5555_5557, "333333333.33333343"),
    (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
    (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
];

#[test]
fn numbers_print_as_in_appendix_b() {
    for (bits, printed) in NUMBERS {
        let source = format!("{:e}", f64::from_bits(*bits));
        assert_eq!(canonical_text(&source), *printed, "{source}");
    }
}

#[test]
fn keys_are_ordered_by_utf16_code_units() {
    let source = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",
        "\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
    let json = read(canonical_text(source).as_bytes(), &Limits::default()).unwrap();
    let order: Vec<&str> = json.as_object().unwrap().keys().collect();
    assert_eq!(order, ["\r", "1", "\u{80}", "ö", "€", "😀", "\u{fb33}"]);
}

#[test]
fn the_example_of_section_3_2_2_gives_its_published_bytes() {
    let source = r#"{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    assert_eq!(
        canonical_text(source),
        r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#
    );
}

#[test]
fn key_order_is_taken_at_every_depth() {
    assert_eq!(
        canonical_text(r#"{"b":[{"d":1,"c":2}],"a":{"z":0,"":0}}"#),
        r#"{"a":{"":0,"z":0},"b":[{"c":2,"d":1}]}"#
    );
}

#[test]
fn spellings_of_one_number_are_one_document() {
    for source in ["100", "100.0", "1e2", "1E+2", "1000e-1"] {
        assert_eq!(canonical_text(source), "100", "{source}");
    }
}

#[test]
fn a_number_beyond_a_double_has_no_form() {
    let json = Json::Array(vec![Json::Number(Number::from_source("-1e400"))]);
    assert_eq!(canonical(&json), Err(CanonicalError::NumberOutOfRange));
}
