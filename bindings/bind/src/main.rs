//! Usage: `bind MODULE.wasm FOLDER`. Writes JavaScript and a module of WebAssembly that belong together: what `wasm-bindgen --target web`
//! does, without its other tools and what these depend on.

use std::env::args_os;
use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let [Some(module), Some(folder)] = [args_os().nth(1), args_os().nth(2)] else {
        eprintln!("usage: bind MODULE.wasm FOLDER");
        return ExitCode::from(2);
    };
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).out_name("gems").typescript(false).omit_default_module_path(false);
    match bindgen.web(true).and_then(|bindgen| bindgen.generate(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why:#}");
            ExitCode::FAILURE
        }
    }
}
