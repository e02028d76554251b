//! Owns the program that writes the modules under `bindings/`; built only with feature `bindgen`.

fn main() {
    uniffi::uniffi_bindgen_main();
}
