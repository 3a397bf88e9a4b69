# The messages of the console in English. The comment above a message declares its arguments, in the order of its method.

## Pages

c_pages = Pages
c_skip = Skip to the content
c_check = Check
c_check_lead = Find out whether a text may be published: which books it shares passages with, how much, and where.
c_decisions = Decisions
c_decisions_lead = Filed checks and what was decided about them, oldest first; entries are never changed.
c_catalogue = Catalogue
c_catalogue_lead = The books that texts are checked against: find one, see its record, add more.
c_jobs = Jobs
c_jobs_lead = Long work that the server does on its own; it goes on after a restart.
c_webhooks = Webhooks
c_webhooks_lead = Where the server posts what libraries and keys wait for.
c_statistics = Statistics
c_statistics_lead = How the server is doing, what is wrong, and what to do about it.
c_audit = Audit
c_audit_lead = Who changed what, and when; entries are never changed or removed.
c_keys = Keys
c_keys_lead = Who may use the server, and for what.
c_sessions = Sessions
c_sessions_lead = Who is signed in to this console; a session ends after an hour without use, after twelve hours, or with its key.
c_documentation = Documentation
c_api = API
c_terms = Terms on this page
c_gone = The server does not answer. Check that it runs and try again.
c_not_for_key = Your key does not permit this page.
c_actions = Actions
c_details = Details
c_local = this machine

## Signing in

c_sign_in = Sign in
c_sign_in_lead = Sign in with a key of this server; you may then do what the key permits.
c_sign_in_no_key = No key? Ask the administrator, who makes one like this:
# $provider (String)
c_sign_in_with = Sign in with { $provider }
c_continue = Continue
c_stale_sign_in = This sign-in was not begun in this browser, took too long, or has ended already. Try again.
# $provider (String)
c_provider_silent = { $provider } cannot be asked who you are. Try again, or sign in with a key.
# $provider (String)
c_provider_refused = { $provider } does not say who you are. Try again.
# $provider (String), $person (String)
c_no_group = { $provider } knows you as { $person }, but none of your groups may use this server. Ask its administrator.
# $key (String)
c_name_taken = Somebody else is { $key } here. Ask the administrator to revoke that key.
c_sign_out = Sign out
c_key = Key
c_unknown_key = There is no such key.
c_expired_key = This key has expired.
c_used_link = This link was used already, or is too old. Sign in with a key.
c_session_ended = The session has ended, because its key was revoked or has expired.
c_too_many_attempts = Too many attempts to sign in; wait a minute.
c_since = Since
c_address = Address
c_browser = Browser
c_this_session = this session
c_end = End
c_no_sessions = Nobody is signed in.

## Problems

c_error_key = A key is needed
c_error_role = This is not allowed
c_error_missing = There is nothing here
c_error_busy = The server is busy
c_error_conflict = This is not possible now
c_error_large = This is too large
c_error_kind = This kind of file is not read
c_error_host = The server is not known by this name
c_error_often = Too many requests
c_error_input = This cannot be done
c_error_server = The server failed

## Checks

c_files = Files
c_files_hint = Choose files or drop them here: EPUB, FB2, DOCX, PDF, plain text and others.
c_text = Text
c_stays = The text stays here
c_stays_is = This page computes the gems, the fingerprints of passages, and sends only those. A copy that was edited to deceive may be missed, and signs of disguise show only if the text itself is sent. The page reads plain text in UTF-8.
c_stays_not = Not possible here: the recipe of this catalogue needs the server.
c_unread = This page cannot read that; nothing was sent
c_anyway = Send it to the server
c_check_and_file = Check and file
c_check_only = Check only
c_progress = Progress
# $size (String)
c_too_large = Too large: the server takes at most { $size }.
c_several = Checked files
c_export = Export as CSV
c_best_match = Best match
c_print = Print
c_link = Link to this report
c_not_filed = This check was not filed: the report is gone when you leave the page. File it to record a decision.
c_queue_lead = Filed checks, the newest first.
c_queue_empty = Nothing waits for a decision.
c_state_open = To decide
c_state_appealed = Appealed
c_state_decided = Decided
c_state_watched = Watched
c_state_clear = No decision needed
c_state_all = All entries
c_case = Case
c_assignee = Assigned to
c_to_me = Me
c_to_nobody = Nobody
c_any = Any
c_queue_words = Name, case or title
c_least_share = At least, in %
c_filed_by_whom = Filed by
c_choose_all = All on this page
c_accept = Accept
c_refuse = Refuse
c_appeal = Appeal
c_take = Assign to me
c_give_back = Give back
c_export_xlsx = Export as XLSX
c_nothing_chosen = Nothing was chosen.
c_search_on = Nothing here. The search goes on with older checks.
# $number (Number)
c_recorded = Recorded for { $number } { $number ->
    [one] check
   *[other] checks
}.
# $number (Number)
c_not_recorded = Not recorded for { $number } { $number ->
    [one] check
   *[other] checks
}.
c_of_batch = Of a bulk check
c_batches = Bulk checks
c_batches_lead = Files that you checked together, the newest first; the last 100 are kept.
# $checked (Number), $total (Number)
c_batch_progress = { $checked } of { $total } checked
# $failed (Number)
c_batch_failed = { $failed } failed
c_files_left = Files that are left
c_files_left_hint = Choose or drop the files again: those that were checked are passed over.
c_not_yet = Not checked yet
c_units = B kB MB GB TB
c_compare = Compare two texts
c_compare_lead = See which passages two texts share, word by word. Nothing is kept.
c_first_text = First text
c_second_text = Second text
c_compare_do = Compare
c_next_open = Next to decide
c_access_keys = Access keys: A accepted, R refused, S record, N next check, J and K next and previous passage
c_decide = Record a decision
c_ruling = May the text be published?
c_reason = Reason
c_record = Record
c_checked = checked
c_accepted = accepted
c_refused = refused
c_appealed = appealed
c_matched = matched later
c_withdrawn = taken back
c_assigned = assigned
# $actor (String)
c_filed_by = Filed by { $actor }
# $until (String)
c_text_kept = Its text is kept until { $until }.
# $until (String)
c_watched_until = Books that are added are compared with it until { $until }.
c_text_gone = Its text is not kept, or not any more.
c_delete_text = Delete the text
c_sure_delete_text = Delete the text of this check? Its report stays, without passages.
c_attach = Show the passages again
c_attach_hint = Choose the file or paste the text that was checked. It is compared with the checked text, and not kept.
c_attach_do = Show
c_export_page = Report as HTML
c_export_passages = Passages as CSV
c_export_json = Report as JSON
c_links = Links to this report
c_links_lead = A link shows the report to somebody without a key, until it expires or is deleted, or its maker’s key ends.
c_new_link = New link
c_link_made = The link is ready
c_link_days = Days until it expires
c_link_texts = Passages of books
c_link_texts_is = Without them, the page shows only passages of the checked text, and no texts of the books that it matches.
c_delete_link = Delete
c_sure_delete_link = Delete this link? Whoever has it sees nothing from now on.
c_back_to_check = Back to the report
c_check_another = Check another text
c_no_decisions_yet = Nothing was decided yet.
c_who = Who
c_entry = Entry
c_day = Day
c_show = Show
c_more = More
c_nothing_found = Nothing was found.

## The first run

c_first = Fill the catalogue
c_first_lead = Texts are checked against the books of the catalogue; there are three ways to add them, and a demo to see it work.
c_demo = Demo shelf
c_demo_lead = Six books that nobody wrote, and a disguised copy of one of them, to see what the server finds. They are in the library “demo”.
c_demo_fill = Add the demo shelf
c_demo_done = These made-up books are in the catalogue now.
# $title (String)
c_demo_copy = A disguised copy of “{ $title }”
c_demo_copy_is = Its title page and two chapters are gone, vowels are mistyped, short words dropped and added, capitals, accents and quotes changed.
c_demo_original = The book
c_demo_disguised = The copy
c_demo_check = Check the copy
c_demo_check_other = Check another, unknown book
c_demo_download = Download the copy
c_way_here = Files, here
c_way_here_is = Name a library, such as a publisher, and choose files.
c_way_folder = A folder or another program
c_way_folder_is = This command adds all books of a folder, and only new and changed ones the next time.
c_way_program_is = Your own system sends each book; the calls are described here:

## The catalogue

c_library = Library
c_libraries = Libraries
c_rights = Rights
c_keep = Keep the texts, so that passages can be shown side by side
c_choose_files = Choose files
c_add = Add books
# $library (String)
c_add_to = Add books to { $library }
c_add_lead = Drop files, or choose them: their names without extensions become the ids. What is there already, or is protected, is added only if you say so.
c_add_all = Add all, even what matches
c_add_anyway = Add anyway
c_replace = Replace the book
c_matching = It matches books that are there:
c_is_there = The library has a book with this id.
c_added_lead = What became of each file.
c_import = Import a table
# $library (String)
c_import_to = Import a table into { $library }
c_import_lead = A table changes the metadata of many books, and adds new ones with their files. First you see what it would change.
c_table = Table: CSV, XLSX, JSON Lines or ONIX
c_template = Download the template
c_template_is = The columns are named in the first row; each is optional. A row is of the book with its id, or of the file that it names.
c_preview = Show what would change
c_preview_lead = Nothing was changed yet. An empty cell changes nothing.
c_imported_lead = What became of each row.
# $rows (Number)
c_import_rows = Import { $rows } { $rows ->
    [one] row
   *[other] rows
}
# $number (Number)
c_files_of_new = Files of { $number } { $number ->
    [one] book that is
   *[other] books that are
} not in the library
c_row = Row
c_effect = Effect
c_no_rows = The table has no rows.
c_was_changed = changed
c_was_missing = new: its file is needed
c_published = Published
c_outcome = Outcome
c_was_added = added
c_was_replaced = replaced
c_was_unchanged = unchanged
c_was_refused = refused
c_title = Title
c_authors = Authors
c_identifier = ISBN or other identifier
c_search_words = Title, author, ISBN or id
c_all = all
c_sort = Sort by
c_as_found = as found
c_expired_rights = rights expired
# $most (Number)
c_too_many_to_sort = More than { $most } books were found. So many are not sorted: narrow the search.
c_is_removed = removed
c_removed_books = Removed books
c_search = Search
c_found = Found
c_book = Book
c_books = Books
# $number (Number)
c_number_of_books = { $number } { $number ->
    [one] book
   *[other] books
}
c_disabled = Disabled
c_is_disabled = disabled
c_length = Length
c_kept_texts = Text kept
c_trust = Trust
c_trusted = trusted
c_not_trusted = not trusted
c_do_trust = Trust it
c_do_distrust = Distrust it
# $library (String)
c_sure_distrust = Distrust library { $library }? Its books will no longer decide what others are told.
c_term_trust_is = Whose word counts. The books of a library that is not trusted decide only in checks of its own keys; to everybody else they are shown as information.
c_changed = Changed
c_empty = The catalogue is empty.
c_duplicates = Duplicates
c_duplicates_lead = Groups of books that are the same, which copy of each is the best, and what else has text in common.
c_find_duplicates = Find duplicates
c_job_runs = The search is running:
c_found_at = Found:
c_no_duplicates = No two books are the same.
# $number (Number), $size (Number)
c_group = Group { $number }: { $size } { $size ->
    [one] book
   *[other] books
}
c_keep_one = Keep only this one
c_editions = Editions of one work
c_dismiss = Leave as they are
c_settled = Settled groups
c_side_by_side = Side by side
# $share (String)
c_in_best = { $share } of it is in the best copy

## A book

c_book_lead = What the catalogue knows about this book, and what can be changed about it.
c_language = Language
c_note = Note
c_otherwise = otherwise
c_digest = Digest
c_fingerprints = Fingerprints
c_clean_digest = Digest of the cleaned text
c_yes = yes
c_no = no
c_change = Change
c_enable = Enable
c_disable = Disable
c_allow = Never let it block a publication
c_authors_by_line = Authors, each on a line
c_identifiers_by_line = ISBNs and other identifiers, each on a line
c_now_disabled = The book is disabled: checks do not count it.
c_undo = Undo
# $day (String)
c_now_removed = The book is removed: checks do not count it. It is deleted on { $day }.
c_from_day = Rights valid from
c_until_day = Rights valid until
c_save = Save
c_shares = What it shares with others
c_shares_lead = The book is checked against all others, by the fingerprints of its passages.
c_shares_nothing = It shares nothing with other books.
c_history = History

## Jobs

c_start_job = Start a job
c_job = Job
c_state = State
c_result = Result
c_no_jobs = No job was started yet.
c_verify = Verify
c_compact = Compact
c_backup = Back up
c_no_backups = This server makes no backups, because its settings name no folder for them. Add a line like this one, and restart it:
c_no_backups_of_cluster = A catalogue in a cluster has no backups here: use the snapshots of its nodes, or an export:
c_reindex = Re-index
c_drop_recipe = Drop a recipe
c_running = running
c_done = done
c_failed = failed
c_cancelled = cancelled
c_cancel = Cancel
c_sure_cancel = Cancel this job?
# $number (Number)
c_faults = { $number } { $number ->
    [one] inconsistency
   *[other] inconsistencies
}

## Keys

c_name = Name
c_permissions = Permissions
c_permission_check = check
c_permission_ingest = add books
c_permission_read_texts = read texts
c_permission_follow = read books
c_permission_review = review
c_permission_ban = forbid
c_permission_administer = administrator
c_limits = Limits
c_expires = Expires
c_never = never
c_rotate = New secret
c_revoke = Revoke
# $name (String)
c_sure_rotate = Make a new secret for “{ $name }”? The old one works for another day.
# $name (String)
c_sure_revoke = Revoke “{ $name }”? It stops working at once.
c_no_keys = There are no keys: whoever can use this machine may do everything. From the first key on, everybody has to sign in; make it one of an administrator.
c_first_key = From now on, everybody needs a key. Keep this one: sign in with it.
c_new_key = New key
c_must_gate = must pass the gate
c_must_gate_books = Books that it adds are refused if they match protected ones
c_trusted_key = Do its libraries count for others? (if it adds books)
c_libraries_of_key = Libraries for which it adds books, reads texts or reviews, separated by commas
c_rate = Requests per second, minute or hour
c_quota = Requests per day
c_create = Create
# $name (String)
c_secret_of = The secret of { $name }
c_once = Copy it now: it is not shown again.
c_copy = Copy

## Webhooks and allow-lists

c_url = URL
c_behind = Changes behind
# $number (Number)
c_failing = failing after { $number } { $number ->
    [one] attempt
   *[other] attempts
}:
c_working = working
c_remove = Remove
# $name (String)
c_sure_remove = Remove “{ $name }”?
c_no_webhooks = There are no webhooks.
c_owner = Owner
c_events = Events
c_all_events = all
c_usual_events = If none is chosen: matches of the books of a library, and all events that a key sees.
c_library_or_own = Library (if empty, the webhook is that of your key)
c_new_webhook = New webhook
c_allow_lists = Allow-lists
c_allow_lists_lead = Books and texts that never block a publication.
c_what = What

## The audit log

c_did_add = book added
c_did_replace = book replaced
c_did_remove = book removed
c_did_amend = book changed
c_did_set = setting changed
c_did_unset = setting removed
c_did_make_key = key made
c_did_revoke_key = key revoked
c_did_sign_in = signed in
c_did_use_up_quota = used up the daily quota
c_did_trust = library trusted
c_did_distrust = library distrusted
c_did_build = catalogue built
c_did_add_recipe = recipe added
c_did_choose_recipe = recipe made the default
c_did_drop_recipe = recipe dropped
c_did_keep_folds = keeping folds
c_did_drop_folds = no longer keeping folds
c_did_start_job = job started
c_did_cancel_job = job cancelled
c_did_end_job = job ended
c_did_end_run = run of a source ended
c_did_fail_run = run of a source cannot go on
c_did_decide = check filed, decided, or matched later
c_did_read_text = text of a check read
c_did_delete_text = text of a check deleted
c_did_end_watch = check no longer watched
c_did_expire_text = text of a check expired
c_did_disable = disabled
c_did_enable = enabled
c_did_restore = restored
c_did_note = note
c_did_unnote = note removed
c_did_confirm = confirmed
c_confirm_book = No collage: let it decide
c_in_quarantine = In quarantine
c_did_change_rights = rights
c_did_change_days = days
c_did_describe = description

## Statistics

c_doctor = What is wrong
c_healthy = Nothing is wrong.
c_fix = What to do
c_concern_weak_default = The default recipe finds fewer edited copies
c_concern_probing_key = A key checks many texts like one book
c_concern_missed_books = Checks miss some books
c_concern_incomplete_recipe = A recipe does not have all books
c_concern_old_lexicon = A lexicon is out of date
c_concern_quarantine = Books wait in quarantine
c_concern_weak_rule = A setting makes checks find less
c_concern_missing_client_recipe = The recipe of existing clients is missing
c_concern_failed_job = A job has failed
c_concern_waiting_job = A job waits for texts
c_concern_inconsistent = The catalogue is inconsistent
c_concern_no_backup = There is no backup
c_concern_old_backup = The last backup is old
c_concern_expired_key = A key has expired
c_concern_expiring_key = A key expires soon
c_concern_unstated_trust = Nobody said whether libraries are trusted
c_concern_key_may_not_forbid = A library has forbidden books that its key may not change
c_concern_failing_webhook = A webhook does not get through
c_concern_disk_nearly_full = The disk is nearly full
c_concern_evidence_full = Few texts of filed checks can still be kept
c_concern_watches_full = Few filed checks can still be watched
c_concern_no_reserve = No space is reserved for a full disk
c_concern_not_writable = The catalogue cannot be changed
c_concern_store_errors = The store has failed to write
c_concern_lost_data = A node has lost data
c_concern_evicting_node = A node may drop data
c_concern_missing_replica = A node has no replica
c_concern_not_persistent = A node does not keep its data on disk
c_concern_node_nearly_full = A node is nearly full
c_concern_missing_catalogue = There is nothing in the cluster under this prefix
c_concern_expiring_certificate = The certificate has to be renewed
c_concern_unreachable_provider = People cannot sign in with the identity provider
c_of_this_server = These are the figures of the server that shows this page, since its start. Each server has its own; Prometheus adds them up.
c_checks_by_day = Checks by day
c_characters = Characters checked
c_first_day = First day
c_last_day = Last day
c_this_month = This month
c_last_month = Last month
c_price = Price of a check
c_cost = Cost
c_no_checks = Nothing was checked on these days.
c_forbidding = Protected or forbidden
c_over_time = Over time
c_no_figures = There are no figures yet. They will appear here by themselves.
c_hour = Last hour
c_week = Last week
c_checks = Checks
c_latency = Time of a check
c_median = median
c_slowest = slowest in a hundred
c_disk = Disk
c_memory = Memory
# $number (String)
c_in_minute = { $number }/min
# $number (String)
c_milliseconds = { $number } ms
c_store = The store
c_postings = Posting lists
c_evidence = Texts of filed checks
c_watched = Watched checks
c_recipe = Recipe
c_recipes = Recipes
c_default = default,
c_ready = complete
c_incomplete = not all books have gems of it
c_cluster = The cluster
c_node = Node
c_primary = primary
c_replica = replica
c_replicas = Replicas in sync
c_lag = Slowest replica behind
c_failovers = Failovers

## Terms

c_term_filed = filed check
c_term_filed_is = Its report is kept under a link, and decisions about it can be recorded. The text is kept as long as the administrator says.
c_term_gem = gem
c_term_gem_is = A number that stands for a passage of a text. Texts with gems in common have passages in common.
c_term_verdict = verdict
c_term_verdict_is = The strictest rights among the books that the text matches. If no match decides, the text is undecided, or has no match.
c_other_checks = Others
c_term_covered_is = The share of the text that lies in protected or forbidden books.
c_term_appealed_is = Somebody disputes a decision.
c_term_library_is = The books of one owner, such as a publisher. Keys can be limited to libraries.
c_term_rights_is = Who may publish the book: forbidden (nobody), protected (only its owner), free, public domain, or unknown.
c_term_keep_is = The catalogue stores gems, not texts. With its text kept, a report shows the passages of the book, too.
c_term_disabled_is = The book is kept, but checks do not count it.
c_term_allow_is = What is on an allow-list is still shown as a match, but does not affect the verdict.
c_term_duplicates_is = Compares all books with each other.
c_term_verify_is = Reads everything and reports inconsistencies.
c_term_compact_is = Brings the store into its smallest and fastest form.
c_term_backup_is = Copies the catalogue to the backup folder of the server’s settings.
c_term_reindex_is = Computes gems of a recipe for all books, from folds or kept texts, and then makes it the default.
c_term_permissions_is = Check texts; add books; read the kept texts of books; review (decide about checks that matched books of some libraries); forbid texts to everyone; an administrator may do everything.
c_term_limits_is = How often the key may be used.
c_term_rotate_is = The key keeps its name and role; the old secret works for another day.
c_term_webhook = webhook
c_term_webhook_is = An address that the server posts events to, such as that an added book matches others, or that a check was decided. The secret signs what it posts.
c_term_who_is = “key:” and the name of a key, “local” for a command on the machine, “anonymous” where no key is needed.
c_term_latency_is = Time to fingerprint a text, look it up and report, without transport.
c_term_recipe_is = The rule by which a text becomes gems. A catalogue can have gems of several.
c_term_postings_is = For each gem, the books that have it.

## Sources

c_sources = Sources
c_sources_lead = Where books are fetched from by the server itself: catalogues, repositories, feeds, sites and folders.
c_source_lead = How far this source is, what failed, and what helps.
c_no_sources = There are no sources.
c_new_source = New source
c_kind = Kind
c_kind_folder = folder on the server
c_kind_list = list of addresses
c_kind_s3 = bucket of S3
c_kind_sitemap = sitemap
c_kind_feed = feed (RSS, Atom)
c_kind_opds = OPDS catalogue
c_kind_oai = OAI-PMH repository
c_kind_site = web site
c_kind_lapidary = library of another Lapidary
c_kind_onix = ONIX feed
c_source_address = Address
c_contains = Only addresses that contain
c_main_text = Main text of a page
c_begins = The first one begins:
c_contact = Contact, for sources on the web
c_every = Repeated every
c_queued = In the queue
c_next_run = Next run
c_idle = idle
c_waiting = waiting
c_paused = paused
c_run = Run now
c_pause = Pause
c_resume = Resume
c_test = Test the first ten items
c_tested = The first items
# $number (Number)
c_run_number = Run { $number }
# $number (Number)
c_left = { $number } left
# $number (Number)
c_minutes = about { $number } min
c_runs = Runs
c_no_runs = It has not run yet.
c_ended = Ended
c_fetched = fetched
c_added_ones = added
c_refused_ones = refused
c_gone_ones = gone
c_skipped_ones = skipped
c_refused_or_skipped = Refused or skipped
c_pages_unchanged = pages unchanged
c_left_out_ones = left out
c_left_out_most = by the most addresses of a run of the source
c_left_out_key = by the most addresses that may wait for all sources of its key
c_left_out_depth = by the most links from the start of a site
c_term_skipped_is = What the source lists and cannot be used: books in no format that can be read, or without a file, and pictures.
c_term_left_out_is = Addresses beyond a limit, which only an administrator raises.
c_next_try = Next try
c_fix_address = Correct the list: this is no address that can be fetched.
c_fix_missing = Nothing is there any more; remove it from the list.
c_fix_robots = The site does not want it fetched; ask its owner for permission.
c_fix_private = It is in the server’s own network; an administrator can allow that.
c_fix_status = The site refuses it; check the credentials and the address.
c_fix_unanswered = The site does not answer now; it is tried again by itself.
c_fix_too_large = Ask an administrator to raise the limits, or leave it out.
c_fix_bad_list = The list cannot be read; check its kind and its address.
c_fix_bad_book = It is no book that can be read; leave it out by a part of its address.
c_fix_matches = It matches protected books; check the text before it is added.
c_fix_bad_record = Correct the book’s record at the source.
c_fix_format = If it is a book, offer it in another format, such as EPUB.
c_fix_no_file = The source gives no file; get the book in another way, and add it yourself.
c_fix_link = Put the file itself into the folder.
c_fix_own = Nothing is to be done: the other server has this book from here.
c_term_source = source
c_term_source_is = A place that lists books. The server remembers where it was, and fetches only what is new or changed.
c_term_main_text_is = A CSS selector such as .chapter for the part of a page that is the book, or readability, which finds it as the reading mode of a browser does.
c_term_contact_is = An e-mail address or a URL that is sent with each request, so that the owner of a site can reach you.
c_term_refused_is = Addresses that could not be fetched or read, with what helps.
c_way_source = From elsewhere, by itself
c_way_source_is = The server fetches books from catalogues, repositories, feeds and sites, and keeps up with them.
