//! Matrix products against the host's.

use crate::cases::matrices;
use crate::elementwise::compare;
use crate::recorder::Recorder;

#[test]
fn matrix_products_are_those_of_the_host() {
    compare(&matrices(&Recorder::new().device()));
}
