//! The output of `cargo metadata` for the workspace.

use serde::Deserialize;
use std::process::Command;

#[derive(Deserialize)]
pub struct Metadata {
    pub packages: Vec<Package>,
    workspace_members: Vec<String>,
}

#[derive(Deserialize)]
pub struct Package {
    id: String,
    pub name: String,
    pub version: String,
    pub license: Option<String>,
    /// `None` for packages of this workspace, else the registry or repository it comes from.
    pub source: Option<String>,
    pub dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
pub struct Dependency {
    pub name: String,
    /// `None` for a normal dependency, else `dev` or `build`.
    pub kind: Option<String>,
}

impl Metadata {
    /// Asks cargo.
    ///
    /// # Errors
    /// Returns cargo's own message if cargo fails.
    pub fn read() -> Result<Metadata, String> {
        let output =
            Command::new("cargo").args(["metadata", "--format-version=1", "--locked"]).output().map_err(|e| format!("cargo: {e}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))
    }

    /// The packages of this workspace.
    pub fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|p| self.workspace_members.contains(&p.id))
    }
}
