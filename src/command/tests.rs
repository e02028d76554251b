//! Tests of the command line: what it understands, and how it ends when it does not.

use std::collections::BTreeMap;

use super::{Arguments, Console, Exit, main, of_host};
use crate::studio::Stop;
use crate::sync::Mutex;

#[derive(Default)]
struct RecordedConsole {
    results: Mutex<Vec<String>>,
    problems: Mutex<Vec<String>>,
}

impl Console for RecordedConsole {
    fn result(&self, line: &str) {
        self.results.lock().push(line.to_owned());
    }

    fn problem(&self, line: &str) {
        self.problems.lock().push(line.to_owned());
    }
}

fn ask(typed: &str) -> (Exit, Vec<String>, Vec<String>) {
    let heard = RecordedConsole::default();
    let typed = typed.split_whitespace().map(str::to_owned).collect();
    let exit = main(typed, BTreeMap::new(), &heard, Stop::default());
    let told = (exit, heard.results.lock().clone(), heard.problems.lock().clone());
    told
}

#[test]
fn words_and_options_are_told_apart() {
    let parse = |text: &str| Arguments::parse(text.split_whitespace().map(str::to_owned));
    let mut asked = parse("studio:work --queue mail --concurrency=3 --once").expect("arguments");
    assert_eq!(asked.command(), "work");
    assert_eq!((asked.value("queue").as_deref(), asked.count("concurrency").ok().flatten()), (Some("mail"), Some(3)));
    assert!(asked.switch("once").expect("a switch") && asked.end().is_ok());
    for wrong in ["work --queue", "work --queue --once", "work --queue a --queue b"] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
    assert!(parse("work --max-seconds 0").expect("arguments").count("max-seconds").is_err());
    assert!(parse("work here").expect("arguments").end().is_err());
    assert_eq!(parse("").expect("nothing").command(), "help");
}

#[test]
fn what_is_not_understood_ends_with_2_and_says_why() {
    for (typed, why) in [
        ("fly --database :memory:", "there is no command `fly`"),
        ("work --database :memory: --speed 9", "`work` has no option `--speed`"),
        ("purge --database :memory: --trace 7", "`purge` has no option `--trace`"),
        ("work --config /no/such/file.toml", "/no/such/file.toml"),
        ("work --database ftp://x", "database.url"),
    ] {
        let (exit, results, problems) = ask(typed);
        assert_eq!((exit, results.len(), problems.len()), (Exit::Usage, 0, 1), "{typed}: {problems:?}");
        assert!(problems[0].starts_with("error[usage]: ") && problems[0].contains(why), "{problems:?}");
    }
}

#[test]
fn what_works_on_all_tenants_is_not_asked_for_one() {
    let file = tempfile::tempdir().expect("a folder").keep().join("studio.sqlite");
    for command in ["purge", "purge --dry-run", "checkpoints:purge", "checkpoints:purge --all"] {
        assert_eq!(ask(&format!("--database {} migrate", file.display())).0, Exit::Done);
        let (exit, results, problems) = ask(&format!("--database {} --tenant acme {command}", file.display()));
        assert_eq!((exit, results.len(), problems.len()), (Exit::Usage, 0, 1), "{command}: {results:?}");
        assert!(problems[0].contains("all tenants") && problems[0].contains("nothing was removed"), "{problems:?}");
    }
    let (exit, _, problems) = ask(&format!("--database {} --tenant acme checkpoints:purge --trace 7", file.display()));
    assert_eq!(exit, Exit::NotFound, "{problems:?}");
}

#[test]
fn what_is_not_there_ends_with_4() {
    let (exit, results, problems) = ask("checkpoints:purge --database :memory: --trace 7");
    assert_eq!((exit, results.len(), problems), (Exit::NotFound, 0, vec!["error[not_found]: there is no run `7`".to_owned()]));
}

#[test]
fn a_database_that_is_not_there_is_not_made_unsaid() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("studio.sqlite");
    for command in ["purge", "checkpoints:purge"] {
        let (exit, results, problems) = ask(&format!("--database {} {command}", file.display()));
        assert_eq!((exit, results.len(), problems.len(), file.exists()), (Exit::NotFound, 0, 1, false));
        assert!(problems[0].contains("there is no database `"), "{problems:?}");
    }
    let work = format!("--database {} work --stop-when-empty", file.display());
    let (exit, _, problems) = ask(&work);
    assert_eq!((exit, problems.len(), file.exists()), (Exit::Done, 1, true), "{problems:?}");
    let (exit, _, problems) = ask(&work);
    assert_eq!((exit, problems), (Exit::Done, vec![]), "now it is there");
}

#[test]
fn what_was_asked_wrongly_is_told_before_what_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("studio.sqlite");
    for (typed, why) in [
        ("export", "what is to be exported?"),
        ("export workflow x --targt php", "`export` has no option `--targt`; did you mean `--target`?"),
        ("purge --dry-rum", "`purge` has no option `--dry-rum`; did you mean `--dry-run`?"),
        ("export workflow x --target", "`--target` needs a value"),
        ("doctor -x", "there is no option `-x`"),
    ] {
        let (exit, results, problems) = ask(&format!("--database {} {typed}", database.display()));
        assert_eq!((exit, results.len(), problems.len(), database.exists()), (Exit::Usage, 0, 1, false), "{typed}: {problems:?}");
        assert!(problems[0].contains(why), "{problems:?}");
    }
}

#[test]
fn an_install_works_on_the_database_of_its_project() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = folder.path().join("shop");
    let newest = crate::store::db::inspect::SCHEMA;
    for applied in [newest, 0] {
        let (exit, results, problems) = ask(&format!("install --path {}", project.display()));
        assert_eq!((exit, problems), (Exit::Done, vec![]));
        assert!(results.last().is_some_and(|line| line.ends_with(&format!("(schema {newest}, {applied} applied)"))), "{results:?}");
        assert!(project.join("studio.toml").exists() && project.join("studio.sqlite").exists());
    }
}

#[test]
fn the_version_is_told() {
    assert_eq!(ask("version --json").1, [format!("{{\"version\":\"{}\"}}", env!("CARGO_PKG_VERSION"))]);
    for typed in ["version", "--version", "-V"] {
        assert_eq!(ask(typed), (Exit::Done, vec![format!("studio {}", env!("CARGO_PKG_VERSION"))], vec![]));
    }
}

#[test]
fn an_empty_queue_ends_at_once_and_json_is_one_object() {
    let (exit, results, problems) = ask("--json --database :memory: studio:work --stop-when-empty");
    assert_eq!((exit, results, problems), (Exit::Done, vec![r#"{"finished":{}}"#.to_owned()], vec![]));
    let (exit, results, _) = ask("--database :memory: purge");
    assert_eq!((exit, results[0].as_str()), (Exit::Done, "runs: 0 removed"));
    let (exit, results, _) = ask("--database :memory: checkpoints:purge");
    assert_eq!((exit, results[0].as_str()), (Exit::Done, "Purged 0 checkpoint(s)."));
    let (exit, results, _) = ask("--database :memory: purge --clock-is-right");
    assert_eq!((exit, results[0].as_str()), (Exit::Done, "runs: 0 removed"));
    let (exit, results, _) = ask("--database :memory: runs:rest");
    assert_eq!((exit, results, ask("--tenant acme runs:rest").0), (Exit::Done, vec!["Marked 0 run(s).".to_owned()], Exit::Usage));
    let (exit, results, _) = ask("--database :memory: --quiet purge");
    assert_eq!((exit, results.len()), (Exit::Done, 0));
}

#[test]
fn settings_of_a_preset_are_written_into_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("studio.json");
    let (exit, results, problems) = ask(&format!("--config {} install-observability langfuse", file.display()));
    assert_eq!((exit, problems), (Exit::Done, vec![]));
    assert!(results.iter().any(|line| line.contains("LANGFUSE_SECRET_KEY")), "{results:?}");
    assert!(std::fs::read_to_string(&file).expect("a file").contains("langfuse"));
    let (exit, _, problems) = ask("install-observability elsewhere");
    assert_eq!((exit, problems.len()), (Exit::Usage, 1));
}

#[test]
fn a_database_is_brought_up_to_date_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("studio.sqlite");
    let typed = format!("--database {} migrate", file.display());
    let (_, before, _) = ask(&format!("{typed} --pretend"));
    assert!(before[0].starts_with("would apply 0001 ") && !file.exists(), "{before:?}");
    let (exit, applied, _) = ask(&typed);
    assert_eq!((exit, applied.len()), (Exit::Done, before.len()));
    let (exit, after, _) = ask(&typed);
    assert!(exit == Exit::Done && after.len() == 1 && after[0].starts_with("the database is up to date"), "{after:?}");
}

#[test]
fn the_doctor_says_which_keys_a_system_that_is_told_of_runs_lacks() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("studio.toml");
    let (exit, _, problems) = ask(&format!("--config {} install-observability langfuse", file.display()));
    assert_eq!((exit, problems), (Exit::Done, Vec::new()));
    let (_, results, _) = ask(&format!("doctor --config {} --database :memory:", file.display()));
    assert!(results.iter().any(|line| line.starts_with("warn observability: langfuse: `secret:LANGFUSE_PUBLIC_KEY` is not set")), "{results:?}");
}

#[test]
fn help_tells_each_command_with_its_options() {
    let (exit, overview, problems) = ask("help");
    assert_eq!((exit, problems), (Exit::Done, vec![]));
    let names: Vec<&str> = overview[0].lines().skip_while(|line| *line != "Commands:").skip(1).map_while(|line| line.split_whitespace().next()).collect();
    assert!(names.len() >= 9, "{names:?}");
    for name in names.iter().filter(|name| !["version", "help"].contains(name)) {
        for typed in [format!("help {name}"), format!("studio:{name} --help")] {
            let (exit, told, problems) = ask(&typed);
            assert_eq!((exit, problems), (Exit::Done, vec![]), "{typed}");
            assert!(told[0].contains(&format!("Usage: studio [GLOBAL OPTION…] {name}")) && told[0].contains("Examples:"), "{told:?}");
        }
    }
    let (exit, _, problems) = ask("help wrok");
    assert!(exit == Exit::Usage && problems[0].contains("did you mean `work`?"), "{problems:?}");
}

async fn in_console(folder: &std::path::Path, typed: &str) -> (Exit, Vec<String>, String) {
    let config = crate::config::Config::with(serde_json::json!({"database": {"path": folder.join("studio.sqlite")}})).expect("a configuration");
    let studio = crate::studio::Studio::open(config).expect("a studio");
    let written = of_host(&studio, typed.split_whitespace().map(str::to_owned).collect(), Some(folder.to_owned())).await;
    (written.exit, written.stdout.lines().map(str::to_owned).collect(), written.stderr)
}

#[tokio::test]
async fn a_project_gets_its_files_and_keeps_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = folder.path();
    let (exit, told, problems) = in_console(project, "studio:install --with-views").await;
    assert_eq!((exit, problems.as_str()), (Exit::Done, ""));
    assert!(told.iter().filter(|line| line.starts_with("created ")).count() > 12, "{told:?}");
    let configuration = std::fs::read_to_string(project.join("studio.toml")).expect("a file");
    toml::from_str::<serde_json::Value>(&configuration).expect("TOML");
    let first = std::fs::read_to_string(project.join("studio/migrations/0001_first.sql")).expect("a file");
    assert!(first.contains("CREATE TABLE studio_runs") && !first.contains("TABLE #"), "it can be run as it is");
    let index = std::fs::read_to_string(project.join("studio/views/index.html")).expect("a file");
    assert!(index.contains("{{head}}") && !index.contains("assets/"), "{index}");

    std::fs::write(project.join("studio.toml"), "# mine\n").expect("a file");
    let (exit, told, _) = in_console(project, "studio:install").await;
    assert!(exit == Exit::Done && told.iter().all(|line| !line.starts_with("created ") && !line.starts_with("replaced ")), "{told:?}");
    assert_eq!(std::fs::read_to_string(project.join("studio.toml")).expect("a file"), "# mine\n");
    let (_, told, _) = in_console(project, "studio:install --force").await;
    let replaced: Vec<_> = told.iter().filter(|line| line.starts_with("replaced ")).collect();
    assert!(replaced.len() == 1 && replaced[0].ends_with("studio.toml"), "only what differs: {told:?}");
}

#[tokio::test]
async fn an_install_that_cannot_write_says_where_it_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("studio"), "a file where a folder belongs").expect("a file");
    let (exit, told, problems) = in_console(folder.path(), "studio:install").await;
    assert_eq!((exit, told.len()), (Exit::Failed, 1), "{told:?}");
    assert!(problems.contains("was not written") && problems.contains("may be given again"), "{problems}");
}
