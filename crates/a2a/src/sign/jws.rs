//! One entry of `signatures`: a JWS with a detached payload (RFC 7515, RFC 8037).
