//! Owns prices (stand-in).
use super::chat::Tokens; use super::usage::Picos; use super::Timestamp;
pub struct Rates; #[derive(Default)] pub struct PriceTable;
impl PriceTable { pub fn lookup(&self, _p:&str,_m:&str,_a:Timestamp)->Option<Rates>{None} }
pub fn cost(_r:&Rates,_t:&Tokens)->Picos{Picos(0)}
