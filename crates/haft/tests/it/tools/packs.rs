use haft::tools::{FilesOptions, Pack, PackError, PackOptions, pack};

#[test]
fn packs_are_found_by_name() {
    for it in Pack::ALL {
        assert_eq!(pack(it.name()), Ok(it));
        assert_eq!(it.to_string().parse::<Pack>(), Ok(it));
        assert!(it.description().ends_with('.') && !it.tools().is_empty());
    }
    let error = pack("file").unwrap_err().to_string();
    assert!(error.contains("`file`") && error.contains("`files`"), "{error}");
}

#[test]
fn what_reaches_outside_has_to_be_configured() {
    let nothing = PackOptions::default();
    for it in [Pack::Files, Pack::Web] {
        assert!(
            matches!(it.build(&nothing), Err(PackError::NotConfigured { pack, .. }) if pack == it)
        );
    }
    #[cfg(feature = "http")]
    assert!(haft::tools::web(haft::tools::WebOptions::default()).unwrap().is_empty());
    let folder = tempfile::tempdir().unwrap();
    assert!(FilesOptions::new(folder.path().join("missing")).is_err());
    let options = nothing.files(FilesOptions::new(folder.path()).unwrap().read_only());
    let tools = Pack::Files.build(&options).unwrap();
    let names: Vec<_> = tools.iter().map(|it| it.name().as_str()).collect();
    assert_eq!(names, ["read_file", "list_files", "find_files", "search_files"]);
}
