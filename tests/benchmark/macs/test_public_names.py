import maseval.benchmark.macs as macs

DOCUMENTED = (
    "MACSBenchmark MACSEnvironment MACSEvaluator MACSGenericTool MACSUser load_tasks "
    "load_agent_config configure_model_ids ensure_data_exists process_data "
    "download_original_data download_prompt_templates restructure_data VALID_DOMAINS "
    "DEFAULT_DATA_DIR compute_benchmark_metrics score_conversation score_conversations "
    "MACSDataError JudgeError"
)
ADDED = "DefaultMACSBenchmark"


def test_all_documented_names_are_there():
    assert sorted(macs.__all__) == sorted([*DOCUMENTED.split(), ADDED])
    for name in macs.__all__:
        assert getattr(macs, name) is not None
    assert macs.VALID_DOMAINS == ("travel", "mortgage", "software")
