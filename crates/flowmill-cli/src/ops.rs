//! `flowmill ops`.

use crate::print_json;
use flowmill::device::KernelDef;
use flowmill::graph::OpDef;
use flowmill::{DType, KernelRegistry, Result, TypeCombination};
use serde_json::{Map, Value, json};

#[derive(clap::Args)]
pub(crate) struct OpsArgs {
    /// Show the ops whose names contain one of these; without, all.
    names: Vec<String>,
    /// Show the types that the kernels of each device type compute.
    #[arg(long)]
    kernels: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Lists the ops of the catalogue, with their kernels.
pub(crate) fn ops(args: &OpsArgs) -> Result<()> {
    let (registry, kernels) = (flowmill::registry()?, flowmill::kernels());
    let is_asked_for = |name: &str| args.names.is_empty() || args.names.iter().any(|part| name.contains(part.as_str()));
    let shown = registry.names().into_iter().filter(|name| is_asked_for(name) && (!args.kernels || kernels.contains(name)));
    let shown: Vec<&OpDef> = shown.filter_map(|name| registry.get(name).map(|def| &**def)).collect();
    if args.json {
        let ops: Map<String, Value> = shown.iter().map(|op| (op.name.clone(), describe(op, &kernels))).collect();
        print_json(&Value::Object(ops));
        return Ok(());
    }
    for op in shown {
        if !args.kernels {
            say!("{op}");
            continue;
        }
        for combination in combinations(op, &kernels) {
            let attrs: Vec<String> = combination.iter().map(|(name, types)| format!(" {name}={}", names(types).join(","))).collect();
            say!("{} CPU{}", op.name, attrs.concat());
        }
    }
    Ok(())
}

fn names(types: &[DType]) -> Vec<&'static str> {
    types.iter().map(|dtype| dtype.name()).collect()
}

/// Returns the combinations of types that the kernels of an op compute: those of the table, or those of registrations; a registration without
/// constraints means all types that the op allows.
fn combinations(op: &OpDef, kernels: &KernelRegistry) -> Vec<TypeCombination> {
    match kernels.type_combinations(&op.name) {
        [] => kernels.defs(&op.name).iter().map(of_registration).collect(),
        table => table.to_vec(),
    }
}

fn of_registration(def: &KernelDef) -> TypeCombination {
    def.constraints().iter().map(|(name, types)| (*name, types.to_vec())).collect()
}

fn describe(op: &OpDef, kernels: &KernelRegistry) -> Value {
    let combination = |combination: TypeCombination| -> Value {
        Value::Object(combination.into_iter().map(|(name, types)| (name.to_owned(), json!(names(&types)))).collect())
    };
    let cpu: Vec<Value> = combinations(op, kernels).into_iter().map(combination).collect();
    json!({"signature": op.to_string(), "kernels": {"CPU": cpu}})
}
