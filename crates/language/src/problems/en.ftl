# What each problem of the API means, in English, and what to do.

p_bad_cursor = This list has no such next page; start again from its first page.
p_bad_form = The form is not as this page sends it; load the page again.
p_bad_gems = The list of gems cannot be read.
p_bad_idempotency_key = The Idempotency-Key must have 16 to 255 characters, such as a UUID.
p_bad_json = The request is not as the server expects it.
p_bad_limit = A list cannot have that many entries.
p_bad_path = The address is not valid.
p_bad_precondition = A condition of the request cannot be read.
p_bad_query = Some field has a value that is not possible here.
p_bad_ref = The mark of a line is too long.
p_broken_body = The upload broke off; try again.
p_no_preconditions = This cannot be asked for under a condition.
p_undecodable = The upload cannot be unpacked.

p_bad_key = There is no such key; sign in with another one.
p_key_expired = The key has expired; ask an administrator for a new one.
p_no_key = This needs a key; sign in.

p_cross_site = The form was not sent by a page of this console, or its session has ended; load the page again.
p_may_not_forbid = Your key may not forbid texts; ask an administrator.
p_not_allowed = The role of your key does not include this.
p_set_by_administrator = An administrator set this, and only an administrator may change it.
p_not_your_library = Your key is for another library.

p_no_such_allow_list = There is no such allow-list.
p_no_such_batch = There is no such batch. The last 100 of each key are kept.
p_no_such_book = There is no such book; it may have been removed.
p_no_such_decision = There is no such entry among the checks and decisions.
p_no_such_job = There is no such job; finished ones are forgotten after a while.
p_no_such_key = There is no key of this name.
p_no_such_lexicon = There is no such lexicon.
p_no_such_library = There is no such library.
p_no_such_link = This link does not exist, has expired or was deleted. Ask whoever sent it for another.
p_no_such_recipe = The catalogue has no such recipe.
p_no_such_source = There is no such source.
p_no_such_text = This text is not kept.
p_no_such_webhook = There is no such webhook.
p_not_found = There is no such page.

p_method_not_allowed = This address does not take such requests.
p_body_stalled = The upload was too slow; try again on a better connection.

p_check_incomplete = Some books of the library have no gems of the recipes of this check, so it could miss a match; send the text instead of gems, or give those books gems again.
p_duplicate = The book has the same text as another one.
p_is_default = This is the default recipe; make another one the default first.
p_job_ended = The job has already ended.
p_job_runs = Such a job is already running; wait for it, or cancel it.
p_key_exists = There is a key of this name already; choose another name.
p_matches = The text matches books that forbid it, so it was not added.
p_not_offered = The store of this server cannot do this.
p_not_recut = The gems of this book cannot be computed anew without its text.
p_nothing_to_withdraw = There is no decision of yours to take back. Another may have been recorded since.
p_other_text = This is another text than the one it is compared with.
p_recipe_differs = There is another recipe of this name.
p_recipe_incomplete = Not all books have gems of this recipe yet, so a check with it could miss some.
p_request_runs = The same request is being answered; try again in some seconds.
p_source_exists = There is a source of this name already; choose another name.
p_source_paused = The source is paused; let it go on first.
p_source_runs = The source is being fetched; wait until it is done.
p_trust_stated = A library of this key was trusted or distrusted before; change that first, on the page of the catalogue.
p_would_be_empty = The book would have no gems any more, and no check could find it.

p_precondition_failed = Somebody else has changed, added or removed it; load the page and try again.

p_body_too_large = The upload is larger than this server takes.
p_too_many_checks = Too many checks at once; send fewer.
p_too_many_elements = The request has too many parts; send fewer at once.
p_too_many_files = Too many files at once; send fewer.
p_too_many_gems = The text has more gems than a check takes; check it in parts.
p_too_many_recipes = Too many recipes at once; choose fewer.
p_too_much_memory = This needs more memory than the server may use for it; send it in parts.

p_unknown_charset = The server does not know this encoding.
p_unknown_content_encoding = The server does not know how this upload is compressed.
p_unknown_content_type = The server does not take files of this kind.

p_unknown_host = The server does not know itself by this name; its administrator can allow it.

p_bad_assignee = Reviewers take a check themselves or give it back; administrators assign it to a key that sees it.
p_bad_batch = A batch has 1 to 500 files, each with a name of its own.
p_bad_decision = A decision needs a ruling and a reason.
p_bad_export = The file is not an export of a catalogue, or it is damaged.
p_bad_gem = A gem is not one of this recipe.
p_bad_key_request = A key cannot be made like this; check its role, limits and days.
p_bad_link = A link cannot be made like this: it expires within 366 days, and a check has at most 100.
p_bad_name = The name is not valid: it is empty, too long or has control characters.
p_bad_recipe = There is no recipe of this name, or its parameters are not possible.
p_bad_source = A source cannot be defined like this; check its address and its options.
p_bad_table = The table, or a row of it, cannot be used.
p_bad_task = The job cannot be done like this.
p_bad_validity = The first day is after the last one.
p_bad_webhook = Events cannot be sent to this address; give one that begins with https://.
p_bad_events = Such a webhook is not told of these events; choose others.
p_bad_replay = The audit log has no entry with this number.
p_damaged = The file is damaged.
p_idempotency_key_reused = This Idempotency-Key was sent with another request.
p_encrypted = The file is protected by a password or against copying; remove the protection first.
p_long_note = The note is too long.
p_no_text = There is no text in the file; scanned pages need text recognition first.
p_not_fetched = The file could not be fetched from this address.
p_not_readable = The file is of a kind that this server does not read; convert it, for example to EPUB.
p_not_text = This is not a text.
p_nothing_to_allow = An allow-list needs a text, gems or a book.
p_over_limit = This is more than the server reads: the file or its text is too complex.
p_secret_recipe = Gems of this recipe are computed by the server only; send the text, or gems of a public recipe.
p_several_books = There are several books in the file; send them one at a time.
p_too_long = Some field is too long.
p_unknown_recipe = The catalogue has no such recipe.

p_too_many_requests = Too many requests in a short time; wait a little.

p_catalogue_exists = There is a catalogue in the folder already.
p_no_backup = There is no backup in the folder.
p_no_catalogue = There is no catalogue in the folder of the server.
p_not_a_catalogue = The folder of the server is not a catalogue.
p_unfinished_copy = A copy of the catalogue was not finished; its administrator has to repeat it.

p_in_use = The catalogue is in use by another program.

p_changed_meanwhile = Somebody else changed this at the same time; load the page and try again.
p_disk_nearly_full = The disk of the server is nearly full, so it takes no changes; its administrator has to make room.
p_no_disk_space = The disk of the server has no room for this; its administrator has to make some.
p_not_replicated = The change is not yet on enough nodes of the store; check whether it took effect, then try again.
p_not_writable = The store takes no changes at the moment; try again later.
p_overloaded = The server is busy; try again in a moment.
p_read_only = The server takes no changes at the moment.
p_source_unreachable = The source does not answer; try again later.
p_starting = The server is starting; try again in a moment.
p_stopping = The server is stopping; try again in a moment.
p_store_full = The store is full; its administrator has to make room.
p_store_silent = The store answers too slowly; try again in a moment.
p_store_emptied = A part of the catalogue was lost, so no answer would be complete; its administrator has to restore it.
p_store_unavailable = The store cannot be reached; try again in a moment.

p_revoked_in_memory = The key is refused from now on, but the server could not write that yet and tries again.
p_disk_full = The disk of the server is full; its administrator has to make room.

p_export_failed = The export failed; the reason is in the log of the server.
p_internal = The server failed; the reason is in its log.
p_store_failed = The store failed; the reason is in the log of the server.
