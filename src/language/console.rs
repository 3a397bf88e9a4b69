//! Every message of the console with its arguments. Its wording in each language is in `console/*.ftl`.

use fluent_bundle::FluentValue;

use super::{Language, declare};

declare! { CONSOLE:
    // Pages.
    c_pages();
    c_skip();
    c_check();
    c_check_lead();
    c_decisions();
    c_decisions_lead();
    c_catalogue();
    c_catalogue_lead();
    c_jobs();
    c_jobs_lead();
    c_webhooks();
    c_webhooks_lead();
    c_statistics();
    c_statistics_lead();
    c_audit();
    c_audit_lead();
    c_keys();
    c_keys_lead();
    c_sessions();
    c_sessions_lead();
    c_api();
    c_terms();
    c_gone();
    c_no_page();
    c_local();

    // Signing in.
    c_sign_in();
    c_sign_in_lead();
    c_sign_in_no_key();
    c_sign_out();
    c_key();
    c_unknown_key();
    c_expired_key();
    c_used_link();
    c_session_ended();
    c_too_many_attempts();
    c_not_from_here();
    c_since();
    c_address();
    c_browser();
    c_this_session();
    c_end();
    c_no_sessions();

    // Problems.
    c_error_key();
    c_error_role();
    c_error_missing();
    c_error_busy();
    c_error_conflict();
    c_error_large();
    c_error_kind();
    c_error_host();
    c_error_often();
    c_error_input();
    c_error_server();

    // Checks.
    c_files();
    c_files_hint();
    c_text();
    c_check_and_file();
    c_check_only();
    c_progress();
    c_too_large(size: &str);
    c_several();
    c_export();
    c_best_match();
    c_print();
    c_link();
    c_not_filed();
    c_decide();
    c_ruling();
    c_reason();
    c_record();
    c_checked();
    c_accepted();
    c_refused();
    c_appealed();
    c_filed_by(actor: &str);
    c_text_not_kept();
    c_check_another();
    c_no_decisions_yet();
    c_who();
    c_entry();
    c_day();
    c_show();
    c_more();
    c_nothing_found();

    // The first run.
    c_first();
    c_first_lead();
    c_demo();
    c_demo_lead();
    c_demo_fill();
    c_demo_done();
    c_demo_copy(title: &str);
    c_demo_copy_is();
    c_demo_original();
    c_demo_disguised();
    c_demo_check();
    c_demo_check_other();
    c_demo_download();
    c_way_here();
    c_way_here_is();
    c_way_folder();
    c_way_folder_is();
    c_way_program();
    c_way_program_is();

    // The catalogue.
    c_library();
    c_libraries();
    c_library_of(name: &str);
    c_library_lead();
    c_rights();
    c_keep();
    c_choose_files();
    c_add();
    c_add_to(library: &str);
    c_add_lead();
    c_added_lead();
    c_outcome();
    c_was_added();
    c_was_replaced();
    c_was_unchanged();
    c_was_refused();
    c_title();
    c_author();
    c_authors();
    c_identifier();
    c_search();
    c_found();
    c_book();
    c_books();
    c_number_of_books(number: u64);
    c_disabled();
    c_is_disabled();
    c_length();
    c_kept_texts();
    c_changed();
    c_empty();
    c_duplicates();
    c_duplicates_lead();
    c_find_duplicates();
    c_job_runs();
    c_found_at();
    c_no_duplicates();
    c_group(number: u64, size: u64);

    // A book.
    c_book_lead();
    c_language();
    c_note();
    c_otherwise();
    c_digest();
    c_yes();
    c_no();
    c_change();
    c_enable();
    c_disable();
    c_allow();
    c_from_day();
    c_until_day();
    c_save();
    c_shares();
    c_shares_lead();
    c_shares_nothing();
    c_history();

    // Jobs.
    c_start_job();
    c_job();
    c_state();
    c_result();
    c_no_jobs();
    c_verify();
    c_compact();
    c_backup();
    c_reindex();
    c_drop_recipe();
    c_running();
    c_done();
    c_failed();
    c_cancelled();
    c_cancel();
    c_sure_cancel();
    c_faults(number: u64);

    // Keys.
    c_name();
    c_role();
    c_role_check();
    c_role_texts();
    c_role_ingest();
    c_role_admin();
    c_limits();
    c_expires();
    c_never();
    c_rotate();
    c_revoke();
    c_sure_rotate(name: &str);
    c_sure_revoke(name: &str);
    c_no_keys();
    c_first_key();
    c_new_key();
    c_libraries_of_key();
    c_rate();
    c_quota();
    c_create();
    c_secret_of(name: &str);
    c_once();
    c_copy();

    // Webhooks and allow-lists.
    c_url();
    c_behind();
    c_failing(number: u64);
    c_working();
    c_remove();
    c_sure_remove(name: &str);
    c_no_webhooks();
    c_new_webhook();
    c_allow_lists();
    c_allow_lists_lead();
    c_what();

    // The audit log.
    c_did_add();
    c_did_replace();
    c_did_remove();
    c_did_amend();
    c_did_set();
    c_did_unset();
    c_did_make_key();
    c_did_revoke_key();
    c_did_build();
    c_did_add_recipe();
    c_did_choose_recipe();
    c_did_drop_recipe();
    c_did_keep_folds();
    c_did_drop_folds();
    c_did_start_job();
    c_did_cancel_job();
    c_did_decide();
    c_did_disable();
    c_did_enable();
    c_did_note();
    c_did_unnote();
    c_did_change_rights();
    c_did_change_days();

    // Statistics.
    c_doctor();
    c_healthy();
    c_fix();
    c_over_time();
    c_hour();
    c_week();
    c_checks();
    c_latency();
    c_median();
    c_slowest();
    c_disk();
    c_memory();
    c_in_minute(number: &str);
    c_milliseconds(number: &str);
    c_store();
    c_postings();
    c_recipes();
    c_default();
    c_ready();
    c_incomplete();
    c_cluster();
    c_primaries();
    c_unreplicated();
    c_lag();
    c_fullest();
    c_failovers();

    // Terms.
    c_term_filed();
    c_term_filed_is();
    c_term_gem();
    c_term_gem_is();
    c_term_verdict();
    c_term_verdict_is();
    c_term_covered_is();
    c_term_appealed_is();
    c_term_library_is();
    c_term_rights_is();
    c_term_keep_is();
    c_term_disabled_is();
    c_term_allow_is();
    c_term_duplicates_is();
    c_term_verify_is();
    c_term_compact_is();
    c_term_backup_is();
    c_term_role_is();
    c_term_limits_is();
    c_term_rotate_is();
    c_term_webhook();
    c_term_webhook_is();
    c_term_who_is();
    c_term_latency_is();
    c_term_recipe_is();
    c_term_postings_is();
}
