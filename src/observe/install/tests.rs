//! Presets are written into files that hosts have.

use super::*;

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a file")
}

#[test]
fn a_json_file_is_made_and_added_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("studio.json");
    let made = install(&file, Preset::Langfuse, false).expect("written");
    assert_eq!((made.done, made.variables.len()), ("created", 3));
    let again = install(&file, Preset::Inspector, false).expect("written");
    assert_eq!(again.done, "replaced");
    let kept = install(&file, Preset::Langfuse, false).expect("kept");
    assert_eq!(kept.done, "kept");
    expect_test::expect![[r#"
        {
          "observability": {
            "langfuse": {
              "enabled": true,
              "public_key": "secret:LANGFUSE_PUBLIC_KEY",
              "secret_key": "secret:LANGFUSE_SECRET_KEY"
            },
            "inspector": {
              "enabled": true,
              "ingestion_key": "secret:INSPECTOR_INGESTION_KEY"
            }
          }
        }
    "#]].assert_eq(&read(&file));
    assert!(crate::config::Config::load(crate::config::ConfigSources { file: Some(file), ..Default::default() }).is_ok());
}

#[test]
fn toml_keeps_its_comments() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("studio.toml");
    std::fs::write(&file, "# ours\nlocale = \"en\"\n").expect("a file");
    install(&file, Preset::Inspector, false).expect("written");
    assert_eq!(read(&file), "# ours\nlocale = \"en\"\n\n[observability.inspector]\nenabled = true\ningestion_key = \"secret:INSPECTOR_INGESTION_KEY\"\n");
    assert!(crate::config::Config::load(crate::config::ConfigSources { file: Some(file.clone()), ..Default::default() }).is_ok());
    assert!(install(&file, Preset::Inspector, true).is_err());
}

#[test]
fn what_is_no_configuration_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("studio.json");
    std::fs::write(&file, "[1]").expect("a file");
    assert!(install(&file, Preset::Inspector, true).is_err());
    assert_eq!(read(&file), "[1]");
    assert_eq!(Preset::named("datadog"), None);
}
