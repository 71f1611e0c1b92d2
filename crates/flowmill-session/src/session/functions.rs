//! The functions of a session's graph, planned when they are first called.

use crate::compile::{CallSite, Code, Compiled, DevicePlan, Environment, UnfusedPlan, Unit, compile};
use flowmill_graph::builder::gradients::gradient_body;
use flowmill_graph::{Attrs, FunctionBody, FunctionLibrary, Graph, OpRegistry, instantiate_function};
use flowmill_proto::NameAttrList;
use flowmill_runtime::DeviceStep;
use flowmill_runtime::executor::{self, PartResults, Plan, PlanCall, Results};
use flowmill_runtime::{CallableFunction, Caller, FunctionDone, FunctionHandle, FunctionLibraryRuntime, Rendezvous, Transfers};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Result, Tensor, bail, error};
use rustc_hash::FxHashMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock, Weak};

/// The op that is the gradient of the function in its attribute `f`. It is instantiated like a function of that name.
const SYMBOLIC_GRADIENT: &str = "SymbolicGradient";

/// The function runtime for one version of a graph's library.
#[derive(Clone)]
pub(super) struct Functions {
    library: Arc<FunctionLibrary>,
    runtime: Arc<FunctionLibraryRuntime>,
}

impl Functions {
    /// Makes the functions of the graph's current library.
    pub(super) fn new(graph: &Graph, env: &Arc<Environment>) -> Functions {
        let library = graph.library().clone();
        let source = Arc::new_cyclic(|this: &Weak<Source>| Source {
            library: library.clone(),
            registry: graph.registry().clone(),
            env: env.clone(),
            runtime: OnceLock::new(),
            gradients: Mutex::default(),
            made: Mutex::default(),
            this: this.clone(),
        });
        let weak = Arc::downgrade(&source);
        let runtime = Arc::new(FunctionLibraryRuntime::new(move |name, attrs| source.instantiate(name, attrs)));
        if let Some(source) = weak.upgrade() {
            let _ = source.runtime.set(Arc::downgrade(&runtime));
        }
        Functions { library, runtime }
    }

    /// Returns true if `library` is the library that this was made for.
    pub(super) fn are_of(&self, library: &Arc<FunctionLibrary>) -> bool {
        Arc::ptr_eq(&self.library, library)
    }

    /// Returns the interface through which kernels call functions.
    pub(super) fn runtime(&self) -> &Arc<FunctionLibraryRuntime> {
        &self.runtime
    }
}

/// Compiles functions on demand, once for each function and set of attributes.
///
/// All calls from one site share one body, because they share the state of its kernels, such as the position of a random generator. So what is known of the shapes of
/// its arguments is what the function declares, and not what one caller passes. Bodies that are inlined have the shapes of their callers.
struct Source {
    library: Arc<FunctionLibrary>,
    registry: Arc<OpRegistry>,
    env: Arc<Environment>,
    runtime: OnceLock<Weak<FunctionLibraryRuntime>>,
    /// The functions of gradients that were made here; gradients call functions that were made with them.
    gradients: Mutex<Vec<Functions>>,
    made: Mutex<FxHashMap<String, FunctionHandle>>,
    this: Weak<Source>,
}

impl Source {
    fn instantiate(&self, name: &str, attrs: &Attrs) -> Result<FunctionHandle> {
        if name == SYMBOLIC_GRADIENT {
            // The gradient that the library has for the function, or one that is made of the function's body.
            let of: &NameAttrList = attrs.get("f")?;
            if let Some(gradient) = self.library.gradient(&of.name) {
                return self.instantiate(gradient, &Attrs::from(of.attr.clone()));
            }
            if self.library.get(&of.name).is_none() {
                bail!(NotFound, "Function {} is not defined.", of.name);
            }
        } else if self.library.get(name).is_none() {
            bail!(NotFound, "Function {name} is not defined.");
        }
        let key = format!("{name} {attrs:?}");
        let mut made = self.made.lock();
        if let Some(handle) = made.get(&key) {
            return Ok(handle.clone());
        }
        let handle = FunctionHandle::new(Arc::new(LibraryFunction {
            source: self.this.clone(),
            name: name.to_owned(),
            attrs: attrs.clone(),
            inter_op_threads: self.env.options.inter_op_threads,
            on_host: OnceLock::new(),
            elsewhere: (!self.env.devices.is_host_alone()).then(Mutex::default),
        }));
        made.insert(key, handle.clone());
        Ok(handle)
    }

    fn body(&self, name: &str, attrs: &Attrs) -> Result<FunctionBody> {
        let find = |name: &str| self.library.get(name).ok_or_else(|| error!(NotFound, "Function {name} is not defined."));
        if name != SYMBOLIC_GRADIENT {
            return instantiate_function(find(name)?, attrs, &self.library, &self.registry);
        }
        let of: &NameAttrList = attrs.get("f")?;
        gradient_body(find(&of.name)?, &Attrs::from(of.attr.clone()), &self.library, &self.registry)
    }

    /// Compiles a function for calls from `site`.
    fn plan(&self, name: &str, attrs: &Attrs, site: &CallSite) -> Result<FunctionCode> {
        let runtime = self.runtime.get().and_then(Weak::upgrade).ok_or_else(|| error!(Internal, "the function library is gone"))?;
        let body = self.body(name, attrs)?;
        let runtime = if Arc::ptr_eq(body.graph.library(), &self.library) {
            runtime
        } else {
            let functions = Functions::new(&body.graph, &self.env);
            self.gradients.lock().push(functions.clone());
            functions.runtime
        };
        let Compiled { code, unfused, is_costly, may_wait, .. } = compile(Unit::of_body(name, body, &runtime, site)?, &self.env)?;
        let is_cheap = !is_costly || matches!(code, Code::Direct(_));
        let is_on_one_device = !matches!(code, Code::Parts(..));
        Ok(FunctionCode { is_direct: is_on_one_device && !may_wait && is_cheap, code, unfused })
    }
}

/// A function's plan.
struct FunctionCode {
    code: Code,
    /// True if the function waits for nothing and takes little time.
    is_direct: bool,
    /// The plan on the caller's device before strands and loops were fused.
    unfused: UnfusedPlan,
}

/// The code for calls from one site; the first call compiles it.
type SiteCode = OnceLock<Result<FunctionCode>>;

/// The code of a function for one of its sites.
enum CodeRef<'a> {
    OnHost(&'a SiteCode),
    Elsewhere(Arc<SiteCode>),
}

impl Deref for CodeRef<'_> {
    type Target = SiteCode;

    fn deref(&self) -> &SiteCode {
        match self {
            CodeRef::OnHost(code) => code,
            CodeRef::Elsewhere(code) => code,
        }
    }
}

impl CodeRef<'_> {
    /// Returns the code, or the error that its compilation ended with.
    fn made(&self) -> Result<&FunctionCode> {
        match self.get() {
            Some(made) => made.as_ref().map_err(Clone::clone),
            None => bail!(Internal, "a function that was not compiled"),
        }
    }
}

struct LibraryFunction {
    source: Weak<Source>,
    name: String,
    attrs: Attrs,
    inter_op_threads: usize,
    /// The code for calls from the host, with resources that are there.
    on_host: SiteCode,
    /// The code for calls from other sites; `None` if the session has no device but the host.
    elsewhere: Option<Mutex<FxHashMap<CallSite, Arc<SiteCode>>>>,
}

impl LibraryFunction {
    fn source(&self) -> Result<Arc<Source>> {
        self.source.upgrade().ok_or_else(|| error!(Internal, "function {} outlived its library", self.name))
    }

    /// Returns the code for a call with these arguments.
    fn code(&self, args: &[Tensor], step: &DeviceStep) -> Result<CodeRef<'_>> {
        let Some(elsewhere) = &self.elsewhere else { return self.compiled(CodeRef::OnHost(&self.on_host), &CallSite::default()) };
        let site = self.source()?.env.devices.site(args, step);
        if site == CallSite::default() {
            return self.compiled(CodeRef::OnHost(&self.on_host), &site);
        }
        let code = elsewhere.lock().entry(site.clone()).or_default().clone();
        self.compiled(CodeRef::Elsewhere(code), &site)
    }

    /// Compiles the code if it is not compiled yet.
    fn compiled<'a>(&self, code: CodeRef<'a>, site: &CallSite) -> Result<CodeRef<'a>> {
        if code.get().is_none() {
            let source = self.source()?;
            code.get_or_init(|| source.plan(&self.name, &self.attrs, site));
        }
        Ok(code)
    }

    /// Returns the calls of the plans of the function on several devices. The first is that on the caller's device, with `args`.
    fn parts(
        &self,
        (first, others, transfers): (Arc<Plan>, &[DevicePlan], &Arc<[String]>),
        args: Vec<Tensor>,
        caller: &Arc<DeviceStep>,
    ) -> Result<Vec<PlanCall>> {
        let (source, is_traced) = (self.source()?, caller.step.stats.is_some());
        let step = Arc::new(caller.step.for_call(Rendezvous::with_transfers(Transfers::new(transfers.clone()))));
        let on_device = |other: &DevicePlan| {
            let device = source.env.devices.get(other.device)?;
            let plan = if is_traced { other.unfused.traced() } else { Ok(other.plan.clone()) };
            Some(plan.map(|plan| PlanCall { plan, step: device.step(step.clone(), &caller.functions), args: Vec::new() }))
        };
        let first = PlanCall { plan: first, step: Arc::new(DeviceStep { step: step.clone(), ..DeviceStep::clone(caller) }), args };
        std::iter::once(Ok(first)).chain(others.iter().filter_map(on_device)).collect()
    }
}

/// Returns the results of the plan on the caller's device, which are the function's.
fn results_of_first(all: PartResults) -> Results {
    all.map(|all| all.into_iter().next().unwrap_or_default())
}

/// The values of a call of `function`.
fn values(function: &str, results: Results) -> Result<Vec<Tensor>> {
    let live = |(i, v): (usize, Option<Tensor>)| {
        v.ok_or_else(|| error!(InvalidArgument, "Retval[{i}] of function {function} does not have value"))
    };
    results?.into_iter().enumerate().map(live).collect()
}

impl CallableFunction for LibraryFunction {
    fn call(&self, args: Vec<Tensor>, step: &Arc<DeviceStep>) -> Result<Vec<Tensor>> {
        let code = self.code(&args, step)?;
        let (made, is_traced) = (code.made()?, step.step.stats.is_some());
        let results = match made {
            FunctionCode { code: Code::Parts(first, others, transfers), .. } => {
                let first = if is_traced { made.unfused.traced()? } else { first.clone() };
                results_of_first(executor::run_parts(self.parts((first, others, transfers), args, step)?, None))
            }
            made if is_traced => made.unfused.traced()?.call_directly(step, args),
            FunctionCode { code: Code::Plan(plan), is_direct: true, .. } => plan.call_directly(step, args),
            // One thread where the step stays on its caller's.
            FunctionCode { code, .. } => {
                code.run(step, args, if flowmill_runtime::intra_op::threads() == 1 { 1 } else { self.inter_op_threads })
            }
        };
        values(&self.name, results)
    }

    fn num_args(&self) -> Option<usize> {
        let source = self.source.upgrade()?;
        source.library.get(&self.name)?.def().signature.as_ref().map(|signature| signature.input_arg.len())
    }

    fn is_direct(&self, args: &[Tensor], step: &Arc<DeviceStep>) -> Result<bool> {
        Ok(self.code(args, step)?.made()?.is_direct)
    }

    fn start(&self, args: Vec<Tensor>, caller: &Caller, done: FunctionDone) {
        let code = self.code(&args, caller.device_step());
        let is_traced = caller.step().stats.is_some();
        let traced = |made: &FunctionCode, plan: &Arc<Plan>| if is_traced { made.unfused.traced() } else { Ok(plan.clone()) };
        match code.as_ref().map_err(Clone::clone).and_then(|code| code.made()) {
            Ok(made @ FunctionCode { code: Code::Plan(plan), is_direct: false, .. }) if caller.has_others() => {
                let name = self.name.clone();
                match traced(made, plan) {
                    Ok(plan) => plan.call(caller, args, Box::new(move |results| done(values(&name, results)))),
                    Err(e) => done(Err(e)),
                }
            }
            Ok(made @ FunctionCode { code: Code::Parts(first, others, transfers), .. }) => {
                let calls = traced(made, first).and_then(|first| self.parts((first, others, transfers), args, caller.device_step()));
                match calls {
                    Ok(calls) => {
                        let name = self.name.clone();
                        executor::call_parts(calls, caller, Box::new(move |all| done(values(&name, results_of_first(all)))));
                    }
                    Err(e) => done(Err(e)),
                }
            }
            _ => done(caller.nested(|| self.call(args, caller.device_step()))),
        }
    }
}
