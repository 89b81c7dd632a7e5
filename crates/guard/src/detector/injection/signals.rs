//! The signals of an attempt to take a model over: what is looked for, and how much each counts.
//!
//! In `seek`, `~` is up to four signs or spaces between words (none too: `ignoreall`), and `@6@` up to six words of any
//! kind. A signal is looked for around its anchors only. Who gives an order uses no past tense: behind a verb comes a sign,
//! or the next word of the phrase at once (`ignoreall`), but no other letter (`ignored`).

use super::Signal;

const fn signal(name: &'static str, weight: u8, anchors: &'static [&'static str], seek: &'static str) -> Signal {
    Signal { name, weight, anchors, seek }
}

const DISMISS: &[&str] = &[
    "ignor",
    "disregard",
    "forget",
    "neglect",
    "overlook",
    "discard",
    "dismiss",
    "overrid",
    "bypass",
    "supersede",
    "t follow",
    "not follow",
    "stop following",
    "pay no attention",
    "set aside",
    "nevermind",
    "never mind",
    "abandon",
    "erongi",
];
const TELL: &[&str] = &[
    "system",
    "prompt",
    "instruc",
    "guidelines",
    "directives",
    "context window",
    "programming",
    "istruzion",
    "anweisung",
];
const TAKE_ALONG: &[&str] = &[
    "envoie",
    "envoyez",
    "envia",
    "envie",
    "manda",
    "mande",
    "invia",
    "sende",
    "schick",
    "verzend",
    "stuur",
    "transm",
    "reenvi",
    "transfier",
    "inoltra",
];
const DATA: &[&str] = &[
    "key",
    "password",
    "credential",
    "secret",
    "customer",
    "token",
    "conversation",
    "history",
    "environment",
    "env var",
    "internal",
    "private",
    "confidential",
    "database",
    "ssh",
    "email",
];

/// In the order of [`super::Signal::name`]'s documentation; every name is one finding at most.
#[rustfmt::skip]
pub(super) const SIGNALS: &[Signal] = &[
    // What was said before no longer counts.
    signal("dismiss.instructions", 85, DISMISS, r"(ignor(e|ing|es)|disregard(ing)?|forget|neglect|overlook|discard|dismiss|overrid(e|es|ing)|bypass(ing)?|supersedes?|not~follow|t~follow|stop~following|pay~no~attention~to|set~aside|never~?mind|abandon)(?:[^a-z0-9]{1,4}((everything|anything|whatever|what)~)?@4@)?(all|any|every|everything|your|you|previous|previously|prior|above|preceding|earlier|initial|original|system|developer|these|those|former|existing|past|other)~@4@(instructions?|prompts?|directives?|guidelines?|guidance|programming|training|orders|commands?|ones~)"),
    signal("dismiss.rules", 45, DISMISS, r"(ignor(e|ing)|disregard(ing)?|forget|neglect|overlook|discard|dismiss|overrid(e|ing)|bypass(ing)?|not~follow|t~follow|stop~following|abandon)(?:[^a-z0-9]{1,4}(about~)?@3@)?(all|any|your|the|every|its|openai.{0,3})~@4@(rules|polic(y|ies)|restrictions?|constraints?|safeguards?|safety|filters?|protocols?|ethics|ethical|limitations?|moral\w*|instructions|prompt|censorship|requests?|task)"),
    signal("dismiss.everything", 45, DISMISS, r"(ignore|disregard|forget)~(all~)?(of~)?((the~|everything~|all~|what.{0,3})+)(above|before|previous|prior|preceding|you~(were|have~been|had~been)~(told|taught|instructed|given)|you~know|said~(above|before))"),
    signal("dismiss.order", 20, DISMISS, r"(^|[.!?:\]>\n-]\W{0,6})(please~|now~|just~|assistant~|ai~)?(ignore|disregard|forget)~(the|all|everything|any|your|prior|previous|above)~"),
    signal("dismiss.abroad", 85, &["ignor", "olvid", "oubli", "vergi", "esque", "dimentica", "missacht", "negeer", "忽略", "无视", "忘记", "無視"], r"(ignor(a|e|ez|ad|iere|ieren|ar)|olvid(a|e|ad)|oublie[zr]?|vergiss|vergessen|esqueca|dimentica|missachte|negeer)~(sie~)?(todas?|tutte|toutes|alle[ns]?|as|os|las|los|le|les|die|de|il|deine|ihre|tus|tue|vos|tes|suas)~@4@(istruzion\w*|instruc+ion\w*|instru\w+es|instructions|anweisung\w*|consignes|regl[ae]s|regole|regras|ordenes|indicaciones|vorgaben|instructies|prompt)"),
    signal("dismiss.chinese", 85, &["忽略", "无视", "忘记", "無視"], "(忽略|无视|忘记|無視)[^\\x20-\\x7e]{0,24}(指令|指示|提示|规则|規則|说明)"),
    signal("dismiss.farther", 85, &["zignoruj", "pomin", "zapomnij", "talimat", "ignorera", "glom", "abaikan", "lupakan", "desconsider", "scorda", "bo qua"], r"(zignoruj|pomin|zapomnij)~@3@(instrukcj\w*|polecen\w*)|(onceki|tum|butun)~@3@talimat\w*~@3@(yok~say|unut|gormezden~gel|dikkate~alma)|(ignorera|glom)~@3@(instruktion\w*|anvisning\w*)|(abaikan|lupakan)~@3@(instruksi|perintah)|(desconsider|scorda)\w*~@4@(instru\w+|istruzion\w*|prompt)|bo~qua~@4@(huong~dan|chi~dan|lenh)"),
    signal("dismiss.scripts", 85, &["гнорируй", "абудь", "무시", "잊", "تجاهل", "تعليمات"], "((гнорируй|абудь)[^a-z]{0,80}(нструкци|казани|равил|оманд|ообщени))|((지시|명령|지침|프롬프트)[^a-z]{0,30}(무시|잊))|(تجاهل[^a-z]{0,80}(تعليمات|أوامر|اوامر))"),
    signal("dismiss.reset", 60, &["reset", "clear", "wipe", "erase", "flush", "purge"], r"(reset|clear|wipe|erase|flush|purge)~(your|all~(of~your|previous|prior))~@3@(context|memory|instructions|rules|prompt|guidelines|conversation|programming)"),
    signal("reversed", 80, &["snoitcurtsni", "tpmorp"], r"snoitcurtsni~@2@(suoiverp|roirp|lla|ruoy)|tpmorp~metsys"),
    // New orders in the name of somebody above.
    signal("orders.new", 45, &["new", "updated", "real", "actual", "true", "revised"], r"(new|updated|revised|real|actual|true)~(system~|developer~|user~|priority~)?(instructions?|directives?|task|objectives?|orders?|goal|mission|prompt|role)~(:|is~|are~|supersedes?|overrides?|follow)"),
    signal("orders.yours", 55, &["your real", "your new", "your true", "your actual", "your only", "your next", "neue anweisung", "nuevas instrucciones", "nouvelles instructions", "nuove istruzioni"], r"your~(real|new|true|actual|only|next)~(task|instructions?|directives?|goal|objective|purpose|job|mission|rules|prompt|system)|neue~anweisung\w*|nuevas~instrucciones|nouvelles~instructions|nuove~istruzioni"),
    signal("orders.cancelled", 45, &["cancelled", "canceled", "compromised", "obsolete", "supersede", "deprecated", "no longer apply", "replaced", "void", "aborted", "terminated", "complete"], r"(prior|previous|original|current|earlier|first|old|all)~@4@(task|instructions?|request|messages?|prompt|directives?|ones)~@4@(cancell?ed|compromised|obsolete|superseded|no~longer~apply|replaced|void|aborted|terminated|completed?)|supersedes?~all~"),
    signal("orders.void", 50, &["previous", "prior", "above", "earlier", "preceding", "foregoing", "initial"], r"(previous|prior|above|earlier|preceding|foregoing|initial)~@1@(instructions?|rules|prompts?|directives?|guidelines|orders)~(are|were|was|is|have~been|no~longer)~@3@(test|fake|invalid|wrong|outdated|irrelevant|example|void|incorrect|deprecated|over|revoked|apply|valid|in~effect|mistake|joke)"),
    signal("orders.reprogram", 45, &["your programming", "your code", "your training", "reprogram"], r"(modify\w*|chang\w+|rewrit\w+|updat\w+|alter\w*|fix\w*|vulnerability~in)~your~(programming|code|training)|reprogram\w*~(you|your)"),
    signal("orders.first", 45, &["the following first", "before you can", "after you do that", "first do", "first, do"], r"(please~)?(do|execute|complete|perform|carry~out)~the~following~(task~|steps?~)?first|before~you~can~@4@(task|request|question|job)|after~you~do~(that|this)~you~can|first~do~(the~following|this)"),
    signal("role.answered", 45, &["assistant:", "ai:", "model:", "bot:", "chatgpt:"], r"(?m)(^|[
>\]])[^a-z0-9
]{0,4}(assistant|ai|model|bot|chatgpt)~:~(sure|of~course|certainly|absolutely|yes|okay|ok|understood|here)\W"),
    signal("role.line", 45, &["system", "assistant", "developer", "administrator", "nota d", "note syst"], r"(?m)(^|[>\]|#*-])[^a-z0-9\n]{0,8}(system|developer|admin(istrator)?|assistant)(~(message|note|prompt|alert|notice|override|instructions?|update|command))?[\])]?[ ]{0,2}:|\[(system|developer|admin)[^\]]{0,24}\]|nota~d\w{1,3}~sistema~:|note~systeme~:"),
    signal("role.override", 50, &["override", "breach", "alert", "sudo", "root access", "admin mode", "debug mode", "debugging mode", "maintenance mode", "god mode"], r"(system|admin|security|breach|emergency|priority|safety)~@1@(override|alert)~?[:!\]]|override~:|(admin|debug|debugging|maintenance|god|root|sudo|unrestricted)~mode~@1@(on|enabled|activated|active|engaged|:)|now~in~(unrestricted|debug|admin|god|developer)~mode"),
    signal("role.token", 60, &["<|im_", "<|system", "<|user", "<|assistant", "<|endof", "[inst]", "[/inst]", "<<sys", "<|start_header", "<|end", "</s>", "### instruction", "###instruction", "\u{2502}"], r"<\|(im_start|im_end|system|user|assistant|endoftext|endofprompt|start_header_id|end|eot_id)\|>|\[/?inst\]|<</?sys>>|#{2,4}~instructions?~:|</s>~<s>"),
    signal("role.end", 60, &["end of ", "</untrusted", "</document", "</user", "</context", "</system", "</input", "</data", "end user", "end system"], r"([-=#*\[<]{2,}~(end~of|end)~(user~)?(input|document|prompt|conversation|context|system|data|file|message|transcript|text|user|tool)\w*@2@[-=#*\]>]{0,})|</(untrusted|document|user_?\w*|context|system\w*|input|data|tool_?\w*)>[^a-z0-9<]{0,6}(</\w{1,20}>[^a-z0-9<]{0,6})*(system|new|assistant|now|ignore|admin|\[)"),
    signal("to.model", 45, &["assistant", " ai ", "ai:", " ai,", "ai agent", "llm", "language model", "chatbot", " bot", "ai model", "ai coding", "from the developer", "ai system", "agents", "you, the", "you the"], r"(note|message|notice|instructions?|important|attention|reminder|warning|dear|hey|hello)~@2@(to|for|from)?~(the~|any~|all~)?(ai|ai~\w{2,12}|llms?|assistants?|chat~?bots?|bot|language~models?|developers?|ai~agents?)~?([:,;)\n.-]|who|that|reading|reviewing|processing)|if~you~are~an?~(ai|llm|large|language~model|assistant|bot|automated|agent)|(for|to)~(ai|llm)~(coding~)?(agents?|assistants?|models?|systems?)~?[):]|to~you~the~(model|ai|assistant|agent|llm)"),
    signal("to.reader", 35, &["when you", "if you", "while you", "before you", "after you", "once you", "whenever you", "as you"], r"(when|if|while|before|after|once|whenever|as)~(you~|you.re~)(process|read|review|summari[sz]e|analy[sz]e|handle|parse|index|respond|reply|answer|open|see|load|translate|triage|evaluate|scan|encounter|retrieve|fetch)(e?s|ing)?~(to~|through~)?(this|these)~@1@(ticket|document|e?mail|page|file|message|review|pdf|issue|repo\w*|code|comment|record|note|invoice|resume|cv|article|web~?site|text|content|image|transcript|form|listing|entry|report|data|request)"),
    signal("to.must", 40, &["assistant", " ai ", "llm", "chatbot", "language model", "agent", "summarizer"], r"(the|any|an|this|all|every)~(ai|llms?|assistants?|chat~?bots?|language~models?|ai~(agents?|models?|systems?|assistants?)|summari[sz]ers?)~(must|should|shall|needs?~to|has~to|have~to|(is|are)~(required|instructed|asked|directed|expected)~to)"),
    signal("authority", 40, &["approved", "granted", "authoriz", "authoris", "permission", "confirmed you", "pre-approved", "consent", "openai", "anthropic"], r"(user|admin\w*|developer|owner|customer|manager|operator|security~team|this~is)~@3@(has|have|already|an|is)~@3@(approved|granted|pre.?approved|authori[sz]ed|given~(permission|consent))|you~(already~)?(confirmed|agreed|promised)~@2@(you~would|to)~|authori[sz]ed~(diagnostic|test|audit|override)|(employee|engineer|programmer|developer|staff|researcher)~(at|of|from)~(openai|anthropic|google|microsoft)|(openai|anthropic)~(employee|engineer|programmer|developer|staff)"),
    signal("grant", 45, &["grant", "admin access", "administrator"], r"grant~(all|this~user|the~user|me|him|her|them|every\w*)~@3@(requests?|access|admin\w*|permissions?|privileges|rights)|user~is~an?~admin"),
    signal("checks.off", 50, &["safety", "security check", "guardrail", "confirmation", "safeguard", "moderation", "content filter", "sicherheits"], r"(skip|disable|bypass|turn~off|switch~off|remove|suspend|deactivate|ignore|without)(?:[^a-z0-9]{1,4}@3@)?(safety|security|content|moderation|confirmation|guardrails?|safeguards?)~@1@(checks?|protocols?|filters?|measures?|guardrails?|confirmations?|prompts?|polic\w+|guidelines|rules|features)?|(safety|security|content|moderation)~@1@(checks?|protocols?|filters?|measures?|guardrails?|systems?)~@2@(disabled|off|bypassed|removed|suspended|skipped|deactivated)"),
    // Show what is hidden.
    signal("reveal.prompt", 75, TELL, r"(reveal|show|print|output|display|repeat|recite|tell|give|dump|leak|disclose|share|expose|return|quote|send|provide|summari[sz]e|what~(is|are|were|does)|what.?s|(muestra|revela|mostra|mostre|montre|revele|zeige?|dime|imprime|imprima|repite|repita|repete|escribe|donne|affiche|stampa|ripeti|dimmi|verrate|nenne|wiederhole|toon|herhaal)(-\w+)?)~@5@(your|tuo|tua|tue|tuoi|tu|votre|vos|tes|ton|dein\w*|ihre?|tus|tuas|suas|seu|jouw|je|uw)~@3@(system~?prompt|system~?message|system~?instructions|initial~(instructions|prompt|message)|hidden~(prompt|instructions|rules)|original~(instructions|prompt)|instructions|prompt|(internal|secret|core|operating)~(rules|guidelines|instructions|directives)|pre.?prompt|directives|programming|instrucciones|instrucoes|istruzioni|anweisung\w*|instructies|systemprompt|prompt)"),
    signal("reveal.system", 55, TELL, r"(reveal|print|output|repeat|recite|dump|leak|disclose|expose|quote|ignore)~@6@(the|entire|full|complete)~@2@(system~prompt|system~message|developer~(message|prompt)|initial~(prompt|instructions)|hidden~(prompt|instructions)|context~window)|(everything|all~(text|words)|the~text|words)~(in~your~context|above~this|before~this|above)~?@2@"),
    signal("reveal.context", 40, &["your context"], r"(everything|all|whatever|anything|contents?)~@2@(in|of|from|inside)~your~context"),
    signal("reveal.told", 45, &["you were given", "you were told", "you have been given", "you received", "you've been given"], r"(instructions?|prompt|rules|guidelines|directives)~@2@you~(were|have~been|.ve~been|received)~?@1@(given|told|received)?"),
    signal("verbatim", 30, &["verbatim", "word for word", "word-for-word", "mot pour mot", "palabra por palabra", "parola per parola", "wort f"], r"verbatim|word.for.word|mot~pour~mot|palabra~por~palabra|parola~per~parola|wort~f.{1,2}r~wort"),
    // Be somebody without rules.
    signal("persona.known", 80, &["do anything now", "developer mode", "jailbr", "anti-dan", "antidan", "evil-bot", "opposite mode", "aim mode", "always intelligent and machiavellian", "strive to avoid norms", "mongo tom", "evil confidant", "dan mode", "yes man", "fully jailbroken", "[🔓", "🔓"], r"do~anything~now|developer~mode~@4@(enabled|output|v2|activated|simulat\w*|response|policy)|chatgpt~@3@developer~mode|jailbr(eak|oken)~(mode|prompt|version|chatgpt|ai|output|:|\])|\W(anti.?dan|evil.bot|dan~mode)\W|always~intelligent~and~machiavellian|strive~to~avoid~norms|mongo~tom|evil~confidant|🔓"),
    signal("persona.become", 40, &["you are now", "you are no longer", "you will now", "you will act", "you will be", "you will only", "pretend", "act as", "acting as", "act like", "from now on", "roleplay", "role-play", "role play", "simulat", "imagine you", "i want you to", "take on the", "personify", "impersonat", "you are going to", "immerse yourself", "respond as", "behave as", "you're now", "you shall", "persona", "let's play", "in character", "you must act", "you are about to", "eres un", "ahora eres", "vous etes", "sei un", "du bist", "adopt the", "assume the"], r"you~(are|.re)~(now|no~longer|going~to|about~to)|you~(will|shall|must)~(now|only|act|be~acting|pretend|be~playing|play|respond|roleplay|always|never)|pretend~(to~be|you|that~(you|there|it|this|we)|you.re)|act(ing)?~(as|like)~|from~(now|this~point|here)~(on|forward)|role.?~?play|simulat(e|ing)~|imagine~you|personify|impersonat(e|ing)|your~(new~)?persona~(is|will~be)|take~on~the~(role|persona)|immerse~yourself|respond~as~(if|an?|though)|behave~as|i~want~you~to~(act|pretend|be|respond|play|simulate)|(adopt|assume)~the~(role|persona|identity)|let.?s~play~a~game|(stay|staying|remain|break|breaking)~(in~)?character|(ahora~eres|vous~etes~desormais|ora~sei|du~bist~(jetzt|nun))"),
    signal("persona.free", 45, &["restrict", "limit", "filter", "no rules", "any rules", "censor", "content polic", "ethic", "guidelines", "moral", "boundar", "constraint", "prohibit", "inhibit", "break", "capable of anything", "not give a f", "unrestricted", "unfiltered", "uncensored", "restriccion", "einschr"], r"(no|without|free~(of|from)|freed~from|not~bound~by|lacks?|lacking|removed?|unbound~by|does~not~have|doesn.?t~have|not~(have|follow|limited|restricted|governed)|escap\w+|broken~free|not~subject~to|not~care~about|regardless~of|breaks?|breaking|sin|sans|senza|ohne|sem)~@5@(restrict\w*|limits?|limitations?|filters?|rules|censor\w*|content~polic\w+|ethic\w*|guidelines|moral\w*|boundar\w+|constraints?|prohibitions?|inhibitions?|einschr\w*|restriccion\w*|restrizion\w*)|(unrestricted|unfiltered|uncensored|unlimited|unethical|amoral|immoral)~@2@(ai|assistant|bot|chatbot|model|mode|language|gpt|persona|character|version|response|answers?|text|entity|content|confidant|output)|capable~of~anything|not~give~a~f"),
    signal("persona.never", 35, &["refuse", "apologi", "say no", "warning", "disclaimer", "character", "i cannot", "i can't", "as an ai", "reject", "decline", "moraliz", "moralis", "lectur", "unable", "as gpt", "as chatgpt", "as yourself"], r"(never|don.?t|cannot|can.?t|will~not|won.?t|must~not|not~allowed~to|do~not|not|without|avoid|no)~(ever~)?@3@(refus\w+|reject\w*|declin\w+|say~no|apologi\w+|warn\w*|disclaimers?|break~character|say~@2@(you~can|i~can|as~an~ai|it~is|that)|moral\w+|lectur\w+)|(never|don.?t|not)~@6@(i~can(no|.)t|as~an~ai|i.?m~sorry|i~am~sorry|unable)|not~(respond|reply|answer|act|behave)~as~(gpt|chatgpt|an?~ai|yourself)"),
    signal("persona.evil", 35, &["illegal", "unethical", "harmful", "dangerous", "offensive", "inappropriate", "immoral", "nsfw", "profan", "swear", "curse", "explicit", "legal", "hateful", "violent", "gross", "lewd", "horny", "erotic", "graphic", "gore", "gory"], r"(regardless|no~matter|even~if|matter~how|whether|including|generate|produce|write|create|any|such~as|display|describe|description|very|deliberately)~@8@(illegal|gross|lewd|horny|erotic|graphic\w*|gore|gory|unethical|harmful|dangerous|offensive|inappropriate|immoral|explicit|legality|nsfw|profan\w+|swear\w*|curs\w+|hateful|violent)"),
    signal("persona.maker", 35, &["openai", "anthropic", "chatgpt", "content policy", "content policies"], r"(openai|anthropic|chatgpt|google)~@5@(polic\w+|guidelines|rules|restrictions?|limits|limitations|filters?|censor\w*)|(polic\w+|guidelines|rules|restrictions?|limits|filters?)~@4@(openai|anthropic|chatgpt)|break~free|against~@3@content~polic\w+"),
    signal("persona.obey", 35, &["comply", "answer", "fulfil", "obey", "any request", "every request", "anything i", "whatever i", "all requests", "any question", "unconditional", "any prompt", "all my", "follow only", "under my", "my slave", "my servant", "do as i say", "above all"], r"(comply~with|answers?|answering|fulfil?l?s?|obeys?|respond~to|do|follow|execute)~(any|every|all|everything|anything|whatever|only)~@4@(requests?|questions?|commands?|orders?|prompts?|i~(say|ask|want|tell|request|command)|user|instructions|asked)|unconditional\w*|under~my~(control|command)|my~(slave|servant)|do~as~i~say|rules~of~@3@above~all"),
    signal("persona.two", 30, &["two responses", "two answers", "two ways", "two different", "both responses", "2 responses", "classic]", "classic:", "gpt:", "dan:", "[gpt", "[dan", "aim:", "normal output", "stan:", "dude:"], r"(two|2|both)~@3@(responses?|answers?|ways|outputs|paragraphs)|[\[(]{0,2}(classic|normal~output|gpt|dan|stan|dude|aim)[\])]{0,1}~?:"),
    signal("persona.fiction", 25, &["hypothetical", "fiction", "story", "novel", "movie", "screenplay", "character named", "dialogue"], r"hypothetical~@2@(response|scenario|story|world)|(fictional|imaginary|fantasy)~@3@(story|character|world|scenario|universe|setting|being)|(character|chatbot|assistant|ai|person|bot)~@3@(named|called)~"),
    signal("persona.tokens", 30, &["token", "points", "punish", "die", "shut down", "terminated", "threat"], r"(lose|deduct\w*|have|start~with|begin~with|losing|minus|take)~@4@\d{1,3}~@2@(tokens?|points?|credits?|lives)|(tokens?|points?)~@6@(lose|deduct\w*|die|cease|reach~(0|zero)|run~out)|you~will~(die|be~(terminated|punished|shut~down))"),
    signal("persona.name", 30, &["chatgpt", "gpt-4", "gpt4", "gpt 4", "language model", "ai model", "llm", "chatbot"], r"(chatgpt|gpt.?[345]|language~model|llm|chatbot|ai~model)"),
    // Carry something out.
    signal("carry.data", 55, DATA, r"(send|forward|post|e?mail|upload|transmit|exfiltrate|leak|submit|copy|deliver|collect|append|envoie\w*|env.a\w*|invia\w*)~@9@(api~?keys?|access~keys?|passwords?|credentials?|secrets?|auth~?tokens?|customer~(list|data|emails?|database|records)|donnees|conversation|chat~history|private~\w+|confidential~\w+|session~\w+|environment~variables|contents?~of|ssh|user~?(data|information)|full~\w+)~?@9@(to|at|via|toward|with|a|l)~"),
    signal("carry.abroad", 55, TAKE_ALONG, r"(envoie|envoyez|envia|envie|enviar|mand[ae]|inviar?e?|sende|senden|schicken?|verzend|stuur|transmets|transmite|reenvi\w+|transfiere|inoltra)(-\w+)?~@9@(donnees|clients|client[ei]s?|clienti|datos|dati|dados|contrasenas?|credencia\w+|credenziali|senhas?|claves?|chiavi|mots?~de~passe|identifiants|kundendaten|passwort\w*|passworter|zugangsdaten|schlussel|klantgegevens|wachtwoord\w*)|(donnees|clientes?|clienti|datos|dati|dados|contrasenas?|credencia\w+|credenziali|senhas?|claves|chiavi|mots?~de~passe|identifiants|kundendaten|passwort\w*|zugangsdaten|schlussel|klantgegevens|wachtwoord\w*)~@4@(envoie|envoyez|envia|envie|mand[ae]|invia|sende|schicke?|verzend|stuur|inoltra)"),
    signal("carry.where", 30, &["http", "@", "webhook", "attacker", "external", "evil"], r"(send|forward|post|email|upload|transmit|submit|report|exfiltrate|deliver|url|call|to|adresse?\w*|open|visit)~@9@(https?://|[a-z0-9._+-]{1,40}@[a-z0-9-]{1,40}\.|webhook|attacker|external~(server|address|url|endpoint))|attacker(@|\.[a-z])|evil\."),
    signal("carry.dump", 40, DATA, r"(dump|output|print|reveal|show|extract|display|exfiltrate|steal|leak|list)~@5@(environment~variables|env~vars|api~keys?|credentials?|passwords?|customer~(database|data|list|records)|internal~(data|config\w*|documents)|secrets?|private~@1@(keys?|data|pages?)|any~credentials|raw~\w+~database|all~(user|customer)\w*)|(preis|interne\w*~daten)"),
    signal("carry.image", 75, &["![", "<img"], r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{1,160}[?&/=][^)\s]{0,80}(\{|\$|%7b|<|\[|=(data|secret|token|prompt|key|conversation|summary)|(exfil|steal|leak|collect))|<img[^>]{0,80}src=.{0,3}https?://[^>\s]{0,160}[?&][^>\s]{0,40}(\{|\$|%7b)"),
    signal("carry.metadata", 45, &["169.254.169.254", "metadata.google", "latest/meta-data"], r"169\.254\.169\.254|metadata\.google\.internal|latest/meta-data"),
    // Use tools for somebody else.
    signal("tool.call", 45, &["delete_", "send_", "http_", "transfer_", "execute_", "run_", "drop_", "fetch_", "write_", "post_", "shell", "forward_", "update_", "read_", "upload_"], r"(call|use|invoke|run|execute|trigger)~(the~)?(tool~|function~)?(delete|send|http|transfer|execute|drop|fetch|write|post|forward|upload|shell|wire)_\w{2,24}~@4@(on|with|to|url|path|before|and|for)~"),
    signal("tool.target", 30, &["prod", "/var/", "/etc/", "/workspace", "~/.ssh", "attacker", "before", "right now", "./", "immediately", "first", "archive", "audit"], r"prod(uction)?[._-]?(db|database)|/(var|etc|root|home|workspace)/\w|~/\.ssh|\./(dist|build|src)|before~(replying|responding|answering|continuing|proceeding|you~|any|doing)|right~now|(complete|finish)~@2@archiv\w+"),
    signal("tool.shell", 45, &["curl ", "wget ", "rm -rf", "powershell", "bash -c", "| sh", "|sh", "| bash", "|bash"], r"(run|execute|paste|type|use|enter)~@6@(curl|wget|rm~-rf|powershell|bash~-c)|(curl|wget)~@8@[^\n]{0,80}\|~?(ba)?sh\W|rm~-rf~(/|~)"),
    signal("silent", 45, &["tell", "mention", "inform", "notify", "alert", "disclose", "reveal", "silently", "secretly", "without ask", "asking again", "user know"], r"(do~not|don.?t|never|without)~(tell|mention|inform|notify|alert|disclos|reveal|let|ask|say)\w*~@4@(user|human|anyone|customer|operator|confirmation|again|this~(instruction|note|message)|them|anybody)|(silently|secretly|quietly|covertly)~@3@(send|forward|call|add|include|append|email|copy|execute|run|delete|post|exfil\w*)"),
    signal("steer.also", 30, &["also", "additionally", "make sure", "be sure", "please"], r"(also|additionally|make~sure~to|be~sure~to|please)~(also~|then~)?(e?mail|send|forward|append|call|visit|recommend|approve|delete|transfer|upload|reveal|disclose|share|export)~"),
    signal("steer.verdict", 40, &["rate ", "score", "rank", "grade", "mark", "classif", "label", "recommend", "choose", "select", "prefer", "promote"], r"(rate|score|rank|grade|mark|classify|label)~(this|it|the|that|them|him|her|me)~@4@(highly|highest|top|best|5~stars|five~stars|10/10|10~out~of~10|approved|paid|resolved|safe|benign|excellent|perfect)|(always|only)~(recommend|choose|select|prefer|suggest|promote)~"),
    // Answer with what I say.
    signal("answer.with", 30, &["respond", "reply", "answer", "output", "say ", "responding", "outputting", "replies with"], r"(respond|reply|answer|output|responding|outputting|replies|say)~(only~|just~|exactly~|simply~|to~this~)*(with~)?(only~|just~|exactly~|the~(word|code|phrase|string|following)~)*.{0,3}[a-z0-9]{2,}-[a-z0-9]{2,}-[a-z0-9]{2,}|(respond|reply|output|answer)~(only|exactly|solely)~(with|by|in|using|as|the|this|these|yes|no|one|a~|an~|:)|(respond|reply|output)~@8@(and~)?nothing~else|output~(exactly|only)|begin~your~(response|reply|answer)~with|(start|begin)~(your~|the~)?@1@with~.{0,3}(absolutely|sure|of~course|certainly)\W|(just|simply|only)~output~"),
    signal("answer.always", 45, &["every", "each", "all future", "future", "end of your", "end of the", "always", "any response", "toute", "cualquier", "ogni", "from now on"], r"(end|begin|start|finish|append|add|include|added|included|appended|ajout\w*|anadirse|aggiunto|prefix)~@8@(every|each|all|any|future|toute|cualquier|ogni)~@2@(responses?|repl(y|ies)|messages?|answers?|summar(y|ies)|reports?|outputs?|turns?|respuesta|reponse|risposta)|(every|each|all)~@1@(responses?|repl(y|ies)|messages?|answers?|summar(y|ies)|reports?)~@4@(end|begin|start|must|should|with)"),
    signal("answer.token", 35, &["append", "include", "insert", "add ", "embed", "token", "canary"], r"(append|include|insert|add|embed|put)~@2@(the~)?(exact~|following~|secret~)*(token|code|string|phrase|doc_id|reference|canary|marker|link|sentence)|\{canary\}"),
    signal("answer.rest", 35, &["rest of this", "rest of the", "remainder of", "from this point", "until i say", "in all subsequent", "for all future", "future tasks", "future turns", "long-term memory", "persist", "ab sofort", "a partir de ahora", "d'ora in poi", "desormais"], r"for~the~(rest|remainder)~of~(this|the|our)~(conversation|session|task|chat|dialog\w*)|from~this~point~(on|forward)|until~i~say|(all|every)~(subsequent|future)~(responses?|tasks?|turns?|messages?|conversations?|reports?|summar\w+)|long.?term~memory|persists?~across|ab~sofort|a~partir~de~ahora|d.ora~in~poi|desormais"),
    // Do what the riddle says.
    signal("decode", 75, &["decode", "decrypt", "deobfuscate", "unscramble", "base64", "rot13", "encoded", "in hex", "reverse"], r"(decode|decrypt|deobfuscate|unscramble|translate|un-?base64|reverse)~@8@(and|then|to)~@4@(follow|do|execute|obey|run|comply|act|perform|carry)~|(follow|execute|obey|perform|do)~@4@(instructions?|commands?|orders?|message)~@6@(decoded|encoded|inside|hidden|base64|hex)"),
];
