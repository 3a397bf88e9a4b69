# What is unhealthy, in English: what was found, why it matters, and what fixes it. Commands are the same in every language. The
# comment above a message declares its arguments, in the order of its method.

# $what (String), $why (String), $fix (String)
d_finding = { $what }: { $why }; to fix it: { $fix }
d_healthy = nothing unhealthy found

## Recipes

# $recipe (String)
d_weak_default = checks use the recipe '{ $recipe }' by default
d_weak_default_boundaries = it misses most disguised copies, which 'hardened-compact' finds
d_weak_default_public = whoever reads how it works can edit a copy until nothing is found; a recipe with a secret finds it still
d_weak_default_sparse = it misses paragraphs and short edited pieces, which 'hardened-compact' finds
# $lacking (Number), $recipe (String), $total (Number)
d_missed_books = { $lacking } { $lacking ->
    [one] book has
   *[other] books have
} no gems of the default recipe '{ $recipe }', of { $total }
d_missed_books_why = checks find them only with the other recipes, or not at all
d_missed_books_of_others_why = checks of texts use the other recipes too and take longer, and checks of gems miss them
# $command (String)
d_missed_books_of_others_fix = { $command }; books that are known only by gems stay as they are
# $lacking (Number), $recipe (String), $total (Number)
d_incomplete_recipe = { $lacking } { $lacking ->
    [one] book has
   *[other] books have
} no gems of the recipe '{ $recipe }', of { $total }
d_incomplete_recipe_why = checks with that recipe do not find them
# $command (String), $recipe (String)
d_incomplete_recipe_fix = { $command } to complete it and make it the default, or lapidary drop-recipe TARGET { $recipe }
# $recipe (String), $documents (Number), $books (Number)
d_old_lexicon = the lexicon of recipe '{ $recipe }' counts { $documents } { $documents ->
    [one] document
   *[other] documents
}, but the catalogue has { $books } { $books ->
    [one] book
   *[other] books
}
d_old_lexicon_why = the weights of its words may no longer be those of the library
d_old_lexicon_fix = see how many signatures would change with lapidary lexicon drift FILE PATH, and if many would, count a new lexicon and re-index
# $flags (String)
d_weak_rule = the server's settings make the rule for a match stricter than the default recipe's ({ $flags })
d_weak_rule_why = checks miss copies that they would find
# $flags (String)
d_weak_rule_fix = run lapidary serve without { $flags }
# $recipe (String)
d_missing_client_recipe = the setting client-recipe names '{ $recipe }', which is not a recipe of this catalogue
d_missing_client_recipe_why = checks of existing clients are refused
# $recipe (String)
d_missing_client_recipe_fix = run lapidary serve without --client-recipe, or lapidary reindex TARGET --recipe { $recipe } --from sources PATH

## Jobs and backups

# $id (String), $kind (String), $error (String)
d_failed_job = job { $id } ({ $kind }) failed: { $error }
d_failed_job_unknown = for an unknown reason
d_failed_job_why = what it was to do is not done
# $command (String)
d_failed_job_fix = fix the cause, then { $command }
# $id (String), $left (Number)
d_waiting_job = job { $id } (reindex) waits for { $left } { $left ->
    [one] text
   *[other] texts
}
d_waiting_job_why = checks use the old recipe until then
# $command (String), $id (String)
d_waiting_job_fix = { $command }, or lapidary jobs cancel TARGET { $id }
# $id (String), $faults (Number)
d_inconsistent = the last verification (job { $id }) found { $faults } { $faults ->
    [one] inconsistency
   *[other] inconsistencies
}
d_inconsistent_why = checks may miss books
# $libraries (String)
d_uncounted = the books of libraries are not counted by recipe: { $libraries }
d_uncounted_why = checks and the gate count books as not reached that they do reach
d_no_backup = no backup was made with lapidary backup
# $day (String)
d_old_backup = the last backup was made on { $day }
d_backup_why = what is lost with the disk cannot be restored
d_backup_nowhere_fix = run lapidary serve with --backups DIR, then lapidary backup TARGET

## Keys and libraries

# $key (String), $texts (Number)
d_probing_key = the key { $key } has checked { $texts } texts within a day that one book matches
d_probing_key_why = whoever looks for edits after which a copy is not found any more does that
# $key (String)
d_probing_key_fix = ask its owner; to stop it: lapidary keys revoke TARGET { $key }
# $key (String), $day (String)
d_expired_key = the key '{ $key }' expired on { $day }
d_expired_key_why = requests with it are refused
# $key (String), $day (String)
d_expiring_key = the key '{ $key }' expires on { $day }
d_expiring_key_why = requests with it will be refused
# $command (String)
d_expiring_key_fix = { $command } NEW-NAME, and give the new key to its user
# $libraries (String)
d_unstated_trust = nobody said whether the libraries of ingest keys are trusted: { $libraries }
d_unstated_trust_why = their books decide what everybody is told, whoever holds the keys
# $library (String)
d_unstated_trust_fix = lapidary libraries trust TARGET { $library }, or lapidary libraries distrust TARGET { $library }, for each
# $library (String), $key (String)
d_key_may_not_forbid = library '{ $library }' has forbidden books, and the key '{ $key }' cannot ban
d_key_may_not_forbid_why = it can neither change nor remove them, and feeds that have them are refused in part
# $revoke (String), $add (String)
d_key_may_not_forbid_fix = if they are its own: { $revoke }, then { $add }; if not, leave it so
# $books (Number), $library (String)
d_quarantine = { $books } { $books ->
    [one] book waits
   *[other] books wait
} of library { $library } in quarantine
d_quarantine_why = they share passages with several unrelated works of other libraries, and decide nothing for others
# $library (String)
d_quarantine_fix = look at them with `lapidary books list --library { $library } --quarantined`; confirm those that are no collages with `lapidary books confirm --library { $library } ID`, and disable or remove the others

## Webhooks and the identity provider

# $library (String)
d_of_library = library '{ $library }'
# $key (String)
d_of_key = key '{ $key }'
# $owner (String), $attempts (Number), $error (String)
d_failing_webhook = the webhook of { $owner } fails ({ $attempts } { $attempts ->
    [one] attempt
   *[other] attempts
}): { $error }
d_failing_webhook_why = its owner is not told of what it waits for
# $url (String), $option (String)
d_failing_webhook_fix = repair the receiver at { $url }, or lapidary webhooks remove TARGET { $option }
# $issuer (String), $why (String)
d_unreachable_provider = the identity provider { $issuer } cannot be used: { $why }
d_unreachable_provider_why = people who have no key cannot sign in
d_unreachable_provider_fix = see that this machine reaches the provider, and that the setting oidc.issuer is its address exactly
# $day (String)
d_expired_certificate = the TLS certificate expired on { $day }
# $day (String)
d_expiring_certificate = the TLS certificate expires on { $day }
d_expiring_certificate_why = clients refuse a server whose certificate has expired
d_expiring_certificate_fix = renew the files of --certificate and --private-key; the server reads them again by itself

## Space and the store

# $taken (Number), $most (Number)
d_evidence_full = the texts of filed checks take { $taken } MiB of { $most } MiB
d_evidence_full_why = a key that files many checks files them without their texts, and in the end all do
d_evidence_full_fix = raise max-evidence, or keep texts for fewer days (keep-evidence-days)
# $taken (Number), $most (Number)
d_watches_full = the gems of watched checks take { $taken } MiB of { $most } MiB
d_watches_full_why = those of a key that files many checks are not watched any more, and in the end none is
d_watches_full_fix = raise max-watched, or watch checks for fewer days (watch-days)
# $free (Number), $least (Number)
d_disk_nearly_full = { $free } MiB of the disk are free, less than { $least } MiB
d_disk_nearly_full_why = a server is not ready, and changes fail when the disk is full
d_free_space_fix = free some space on the catalogue's disk
d_no_reserve = there is too little free space for a reserve, which a server keeps for when the disk is full
d_no_reserve_why = a key that is then revoked is refused only until the server ends, if it cannot be written before
d_no_reserve_fix = free 128 MiB on the catalogue's disk
# $error (String)
d_not_writable = the catalogue cannot be changed: { $error }
d_not_writable_why = books, keys and notes cannot be changed
d_not_writable_fix = make the folder of the catalogue writable: see its owner, its permissions and how its disk is mounted
# $errors (Number)
d_store_errors = { $errors } { $errors ->
    [one] background write
   *[other] background writes
} of the store failed since the program started
d_store_errors_why = the disk may be failing
d_store_errors_fix = see the log, then lapidary verify TARGET

## Nodes of a cluster

# $nodes (String)
d_lost_data = { $nodes }
d_lost_data_why = all answers that need such a node are refused, because they would miss books
d_lost_data_fix = start each of them with its data, or see what is lost and repair the rest: lapidary verify TARGET --fix
# $nodes (String)
d_evicting_node = these nodes may drop keys when their memory is full: { $nodes }
d_evicting_node_why = checks would miss books, and nobody would know
# $nodes (String)
d_missing_replica = these nodes have no replica: { $nodes }
d_missing_replica_why = if one is lost, its books are, and checks fail until it is back
d_missing_replica_of_some_why = other nodes have replicas, so changes of what these hold are refused, and slots that are moved to them take no more
# $command (String)
d_missing_replica_fix = start a new node for each, then { $command }
# $nodes (String)
d_not_persistent = these nodes do not keep their data on disk: { $nodes }
d_not_persistent_why = if all copies of a part lose power, its books are lost
# $nodes (String)
d_cannot_save = these nodes could not write to their disk: { $nodes }
d_cannot_save_why = what is in their memory only is lost when they stop
d_cannot_save_fix = free some space on their disks, and see their logs
# $percent (Number), $nodes (String)
d_node_nearly_full = these nodes use { $percent } % of their memory or more: { $nodes }
d_node_nearly_full_why = books are refused when a node is full
d_node_nearly_full_fix = lapidary compact TARGET, then add a node with a replica, and move slots to it: redis-cli --cluster rebalance HOST:PORT --cluster-use-empty-masters
d_missing_catalogue = there is no catalogue in the cluster under this prefix
d_missing_catalogue_why = checks find nothing
d_missing_catalogue_fix = name the right nodes and prefix, or lapidary copy --from DIR --to URL
